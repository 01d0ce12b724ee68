/** Sources of plug-ins. Records are acknowledged once they are safe on disk. */
import type { PluginRecords, PluginSource } from '../../../src/core/extension/source-types.js'
import { UnfitRecord } from '../../records/index.js'
import type { Input } from '../intake/input.js'
import { MessageIntake } from '../intake/message-intake.js'
import { spoolInput, type TakingDeps } from '../intake/spool-input.js'

/** At a stop, the source has this long to release what it holds. */
const CLOSE_MS = 5000

/** Reads the source of a plug-in. `options` are the value of the member that names it. */
export async function pluginInput(
  plugin: PluginSource,
  options: unknown,
  { tell, ...deps }: TakingDeps & { readonly tell: (message: string) => void },
): Promise<Input> {
  const { name, endless = false } = plugin
  const { stats, clock } = deps
  return await spoolInput(deps, {
    endless,
    async take(open, signal) {
      const intake = new MessageIntake(open(), stats)
      const iterator = plugin.open(options, { signal, tell })[Symbol.asyncIterator]()
      let count = 0
      try {
        for (;;) {
          const next = await orUndefined(iterator.next(), signal)
          if (next === undefined || next.done === true) return
          for (const record of next.value.records) {
            count++
            intake.add(
              () => `${name} record ${count}`,
              () => bytesOf(record),
            )
            if (intake.full) await intake.commit(clock, signal)
          }
          await intake.commit(clock, signal)
          await next.value.acknowledge?.()
        }
      } finally {
        const closed = Promise.resolve(iterator.return?.()).catch(() => undefined)
        const waiting = new AbortController()
        await Promise.race([closed, clock.sleep(CLOSE_MS, waiting.signal).catch(() => undefined)])
        waiting.abort()
      }
    },
  })
}

/** Returns the next part of the source, or undefined once the signal aborts: the source may wait for long. */
async function orUndefined(
  next: Promise<IteratorResult<PluginRecords>>,
  signal: AbortSignal,
): Promise<IteratorResult<PluginRecords> | undefined> {
  const over = new AbortController()
  next.catch(() => undefined)
  try {
    const stopped = new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => resolve(undefined), { once: true, signal: over.signal })
      if (signal.aborted) resolve(undefined)
    })
    return await Promise.race([next, stopped])
  } finally {
    over.abort()
  }
}

function bytesOf(record: object | string): Buffer {
  if (typeof record === 'string') return Buffer.from(record)
  try {
    return Buffer.from(JSON.stringify(record))
  } catch {
    throw new UnfitRecord('the record cannot be written as JSON')
  }
}
