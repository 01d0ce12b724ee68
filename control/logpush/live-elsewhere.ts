import { messageOf } from '../../src/core/errors.js'
import { newUuid } from '../../src/core/ids.js'
import type { Log } from '../../src/core/log.js'
import type { StreamSource } from '../../src/core/machine-streams.js'
import type { Watched } from '../../pipelines/logpush/monitor.js'
import { recordsIn, zoneSource, type LiveElsewhere, type LiveLines } from './live-session.js'
import { tailSource } from './tail.js'

export interface LiveSourceDeps {
  readonly lines: LiveLines
  /** Returns the pipelines and jobs that run. */
  readonly running: () => readonly Watched[]
  /** Whether all machines read the same spool: then the one with the session reads the records of all. */
  readonly isSpoolShared: boolean
  readonly log: Log
}

/** Sends the records of this machine to live sessions of other machines, which have checked who may see them. */
export function liveRecords({ lines, running, isSpoolShared, log }: LiveSourceDeps): StreamSource {
  return async ({ scope, input }, sender, signal) => {
    const { edge, tail = {} } = input as LiveElsewhere
    const own = running().filter(
      ({ scope: owner }) => owner === undefined || (owner.type === scope.type && owner.id === scope.id),
    )
    const source = edge ? zoneSource(edge) : tailSource(tail, own)
    const job = source.compile(newUuid())
    const read = async (): Promise<void> => {
      const isOfSpool = source.lines === undefined
      for await (const text of source.lines?.(job, signal) ?? lines(scope, job, signal))
        // With a shared spool this machine creates the records, and does not send them.
        if (!isOfSpool || !isSpoolShared) sender.send(text, recordsIn(text))
    }
    void read().catch((error: unknown) => {
      if (signal.aborted) return
      log.error({ event: 'live_stream_failed', scope: scope.id, error: messageOf(error) })
      sender.end()
    })
  }
}
