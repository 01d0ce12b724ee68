import type { Clock } from '../../src/core/clock.js'
import { BatchText } from '../records/index.js'
import type { CompiledJob } from './settings/compiled-job.js'
import type { Cursor, Spool } from './spool/types.js'
import { more } from './backoff.js'

/** Prefix of the cursors of streams. Cursors left after a crash are removed at the next start. */
export const LIVE = 'live-'

/** Maximum lag of a stream in records. A stream that is read too slowly continues with the newest records. */
const MAX_BEHIND = 50_000
const REMEMBER_MS = 5000

/** Yields texts of new records in the format of a job. Ends when the signal aborts. */
export async function* liveLines(
  spool: Spool,
  cursor: Cursor,
  job: CompiledJob,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<Uint8Array, void, undefined> {
  let position = cursor.state.next
  let remembered = clock.monotonic()
  while (!signal.aborted) {
    if (spool.behind(position) > MAX_BEHIND) position = spool.end
    if (clock.monotonic() - remembered > REMEMBER_MS) {
      remembered = clock.monotonic()
      await cursor.save({ next: position })
    }
    const frame = await spool.frame(position)
    if (frame === undefined) {
      await more(spool, position, { clock, ms: REMEMBER_MS, signal })
      continue
    }
    const text = new BatchText(job.format)
    const scanner = job.view?.()
    const shape = job.shape?.()
    for (let index = Math.max(0, position - frame.first); index < frame.count; index++) {
      const record = scanner === undefined ? frame.record(index) : scanner.scan(frame.line(index))
      if (job.keeps(record) && job.samples(frame.first + index)) text.add(shape?.(record) ?? record)
    }
    frame.release()
    position = frame.first + frame.count
    if (text.records > 0) yield text.close()
  }
}
