import type { Clock } from '../../src/core/clock.js'
import { newUuid } from '../../src/core/ids.js'
import type { OpenTransform } from '../../src/core/extension/record-transform.js'
import { BatchText, type ScannedRecord } from '../records/index.js'
import { openReader } from './reader.js'
import type { CompiledJob } from './settings/compiled-job.js'
import type { Reader } from './spool/position.js'
import type { Cursor, Position, Spool } from './spool/types.js'
import { more } from './backoff.js'
import { TransformedLines, TransformStage } from './transform/transformed-lines.js'

/** Prefix of the cursors of streams. Cursors left after a crash are removed at the next start. */
export const LIVE = 'live-'

/** Maximum lag of a stream in records. A stream that is read too slowly continues with the newest records. */
const MAX_BEHIND = 50_000
const REMEMBER_MS = 5000

interface LiveDeps {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly openTransform?: OpenTransform | undefined
}

/** Yields texts of new records in the format of a job. Ends when the signal aborts. */
export async function* liveLines(
  spool: Spool,
  cursor: Cursor,
  job: CompiledJob,
  { clock, signal, openTransform }: LiveDeps,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { transform } = job.settings
  const opened = transform && openTransform?.(transform, newUuid())
  const read = opened ? changedBy(new TransformStage(opened, job, undefined)) : plain(job)
  let position = cursor.state.next
  let remembered = clock.monotonic()
  try {
    while (!signal.aborted) {
      if (spool.behind(position) > MAX_BEHIND) position = spool.end
      if (clock.monotonic() - remembered > REMEMBER_MS) {
        remembered = clock.monotonic()
        await cursor.save({ next: position })
      }
      const text = new BatchText(job.format)
      const end = await read(spool, position, text)
      if (end === undefined) await more(spool, position, { clock, ms: REMEMBER_MS, signal })
      position = end ?? position
      if (text.records > 0) yield text.close()
    }
  } finally {
    await opened?.close()
  }
}

/** Adds records from a position on to a text. Resolves with the position behind them, or undefined if there are none. */
type ReadLive = (spool: Spool, position: Position, text: BatchText) => Promise<Position | undefined>

function plain(job: CompiledJob): ReadLive {
  const scanner = job.view?.()
  const shape = job.shape?.()
  return async (spool, position, text) => {
    const frame = await spool.frame(position)
    if (frame === undefined) return undefined
    for (let index = Math.max(0, position - frame.first); index < frame.count; index++) {
      const record = scanner === undefined ? frame.record(index) : scanner.scan(frame.line(index))
      if (job.keeps(record) && job.samples(frame.first + index)) text.add(shape?.(record) ?? record)
    }
    frame.release()
    return frame.first + frame.count
  }
}

/** Reads the lines of one call of a module at a time. */
function changedBy(stage: TransformStage): ReadLive {
  const { job } = stage
  const shape = job.shape?.() ?? ((record: ScannedRecord) => record)
  let reader: Reader | undefined
  return async (spool, position, text) => {
    if (reader?.place.position !== position) reader = await openReader(spool, job, { position, skip: 0 }, stage)
    const lines = await reader.next()
    if (!(lines instanceof TransformedLines)) return undefined
    await lines.ready()
    for (let index = lines.begin; index < lines.count; index++)
      for (let at = 0; at < lines.size(index); at++) text.add(shape(lines.changed(index, at)))
    reader.at(lines, lines.count)
    return reader.place.position
  }
}
