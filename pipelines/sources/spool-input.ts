import { join } from 'node:path'
import { DAEMON } from '../../src/core/scope.js'
import type { Clock } from '../../src/core/clock.js'
import type { Log } from '../../src/core/log.js'
import { recordCheck, type Dataset } from '../records/index.js'
import type { FrameWriter } from '../logpush/spool/types.js'
import { openSpools } from '../logpush/spool/index.js'
import type { Input } from './input.js'
import type { RunStats } from './run-stats.js'

/** What every source that takes records into a spool is opened with. */
export interface TakingDeps {
  readonly dataset: Dataset
  /** For the spool; exists. */
  readonly folder: string
  /** Bytes that the spool may have. */
  readonly spoolBytes: number
  readonly stats: RunStats
  readonly clock: Clock
  readonly log: Log
}

/** What a source does: takes records in until its input ends, or the signal aborts. */
export type Take = (writer: () => FrameWriter, signal: AbortSignal) => Promise<void>

const CURSOR = 'run'

/**
 * Input by way of a spool, which keeps what has been taken until it is delivered. Whatever an earlier run took and did not
 * deliver comes first.
 */
export async function spoolInput(
  { dataset, folder, spoolBytes, clock, log }: TakingDeps,
  { endless, take }: { endless: boolean; take: Take },
): Promise<Input> {
  const spools = await openSpools(join(folder, 'spool'), { clock, log, limits: { bytes: spoolBytes } })
  const spool = await spools.open(dataset.name, DAEMON)
  const cursor = await spool.cursor(CURSOR)
  const check = recordCheck(dataset)
  const stopping = new AbortController()
  let ended = false
  const taking = take(() => spool.writer({ check }), stopping.signal).then(
    () => void (ended = true),
    (error: unknown) => {
      if (!stopping.signal.aborted) throw error
      ended = true
    },
  )
  const end = taking.catch(() => undefined)
  const failed = taking.then(async () => await new Promise<never>(() => {}))
  // The runner of the pipeline gets the error; before it listens, it must not count as unhandled.
  failed.catch(() => undefined)
  return {
    id: spools.id,
    spool: {
      get end() {
        return spool.end
      },
      frame: async (position) => await spool.frame(position),
      async waitFor(position, signal) {
        if (ended) return
        await Promise.race([spool.waitFor(position, signal), end])
      },
    },
    cursor,
    endless,
    over: (position) => ended && position >= spool.end,
    stop: () => stopping.abort(),
    failed,
    async close() {
      stopping.abort()
      await end
      await spools.close()
    },
  }
}
