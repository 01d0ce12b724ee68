import { Type } from 'typebox'
import { InvalidInput, messageOf } from '../../src/core/errors.js'
import { assertMembers, assertName } from '../../src/core/extension/members.js'
import type { GivenRow } from '../../src/core/extension/tables.js'
import { strict } from '../../src/core/schema.js'
import { SinkError, type Sink, type SinkFailure } from '../../src/core/sink.js'
import { paramReader, reject, type ParamSchema } from './params.js'
import type { PluginSink, PluginSinkConnection, PluginSinkError } from './plugin-types.js'
import type { SinkType } from './sink-type.js'

const FAILURES: readonly (SinkFailure | undefined)[] = ['transient', 'refused', 'too_large']

/** Converts a destination of a plug-in to a row of the table. Throws a TypeError if its members are not valid. */
export function pluginSink(row: GivenRow): SinkType {
  assertName('scheme', row['scheme'], /^[a-z][a-z0-9+.-]{0,31}$/, 'spool')
  assertMembers(row, { form: 'string', summary: 'string', 'params?': 'object', 'check?': 'function', open: 'function' })
  const plugin = row as unknown as PluginSink
  if (plugin.params && typeof (plugin.params as { properties?: unknown }).properties !== 'object')
    throw new TypeError('params must be a schema of an object, such as Type.Object({ ... })')
  const params = (plugin.params ?? Type.Object({}, strict)) as unknown as ParamSchema
  const read = paramReader(params)
  return {
    scheme: plugin.scheme,
    form: plugin.form,
    summary: plugin.summary,
    params,
    check(destination, deps) {
      const values = read(destination)
      rejecting(() => plugin.check?.(destination, values, deps))
    },
    open(destination, deps) {
      const values = read(destination)
      rejecting(() => plugin.check?.(destination, values, deps))
      return connected(plugin.open(destination, values, deps))
    },
  }
}

/** Passes an error of a plug-in on as an issue of the destination. */
function rejecting(check: () => void): void {
  try {
    check()
  } catch (error) {
    if (error instanceof InvalidInput) throw error
    reject(messageOf(error))
  }
}

function connected(connection: PluginSinkConnection): Sink {
  return {
    encoding: connection.encoding ?? 'identity',
    limits: connection.limits ?? {},
    daily: false,
    ordered: connection.ordered ?? false,
    write: async (batch, signal) => await failing(signal, async () => await connection.write(batch, signal)),
    check: async (signal) => await failing(signal, async () => await connection.check?.(signal)),
    close: async () => await connection.close?.(),
  }
}

/** Converts errors of a plug-in to errors that decide how the delivery is retried. */
async function failing(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SinkError) throw error
    const { failure, retryAfterMs } = (error ?? {}) as Partial<PluginSinkError>
    throw new SinkError(FAILURES.includes(failure) ? failure! : 'transient', messageOf(error), {
      cause: error,
      ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
    })
  }
}
