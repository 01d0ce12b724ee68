import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { Type } from 'typebox'
import { strict } from '../src/core/schema.js'
import { SinkError } from '../src/core/sink.js'
import { reasonOf } from './contract/failure.js'
import { paramReader, reject } from './contract/params.js'
import type { SinkDeps, SinkType } from './contract/sink-type.js'

const PARAMS = Type.Object({}, strict)
const read = paramReader(PARAMS)

/** Writes the text of all batches to standard output. For pipeline files only. */
export const stdout: SinkType = stdoutTo(() => process.stdout)

/** The same for another stream, which is never ended. */
export function stdoutTo(stream: () => Writable): SinkType {
  return {
    scheme: 'stdout',
    form: 'stdout:',
    summary: 'text on standard output, for pipeline files only',
    params: PARAMS,

    check(destination, deps) {
      checked(destination, deps)
    },

    open(destination, deps) {
      checked(destination, deps)
      const out = stream()
      // The await of a failed write throws. An additional unhandled event would end the process.
      out.on('error', ignored)
      return {
        encoding: 'identity',
        limits: {},
        daily: false,
        ordered: true,

        async write({ body }, signal) {
          for await (const piece of body.read()) await written(out, piece, signal)
        },

        async check() {},

        async close() {
          out.off('error', ignored)
        },
      }
    },
  }
}

function ignored(): void {}

function checked(destination: URL, deps: SinkDeps): void {
  if (!deps.allowStdout) reject('is allowed in pipeline files only')
  read(destination)
  if (destination.host !== '' || !['', '/'].includes(destination.pathname))
    reject('has a host or a path; write stdout:')
}

/** Resolves after the stream has consumed a piece, so that later pieces do not pile up in memory. */
async function written(stream: Writable, piece: Uint8Array, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (stream.destroyed || !stream.writable) throw new SinkError('refused', 'standard output is closed')
  try {
    if (!stream.write(piece)) await once(stream, 'drain', { signal })
  } catch (error) {
    signal.throwIfAborted()
    throw new SinkError('refused', `standard output could not be written: ${reasonOf(error)}`, { cause: error })
  }
}
