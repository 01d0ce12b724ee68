/** Records that a spool retains, by the time at which they were accepted. */
import { BatchText } from '../records/index.js'
import type { CompiledJob } from './settings/compiled-job.js'
import type { Frame, Position, Spool } from './spool/types.js'
import { EventLoopYield } from '../../src/core/schedule/event-loop-yield.js'

type Retained = Pick<Spool, 'start' | 'end' | 'frame'>

/** Returns the position of the first record that was accepted at a time, ms since 1970, or later. */
export async function positionAt(spool: Retained, ms: number): Promise<Position> {
  let low = spool.start
  let high = spool.end
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const frame = await spool.frame(middle)
    if (frame === undefined) return low
    const { first, count, acceptedAt } = frame
    frame.release()
    if (acceptedAt < ms) low = Math.max(middle + 1, first + count)
    else high = Math.max(low, Math.min(middle, first))
  }
  return low
}

export interface HistoryOptions {
  /** Inclusive, ms since 1970. */
  readonly from: number
  /** Exclusive. */
  readonly to: number
  /** Maximum records. */
  readonly count: number
}

/** Texts of the records that were accepted within a time, as a job writes them. */
export async function* recordsBetween(
  spool: Retained,
  job: CompiledJob,
  { from, to, count }: HistoryOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const loop = new EventLoopYield()
  let position = await positionAt(spool, from)
  let left = count
  while (left > 0) {
    const frame = await spool.frame(position)
    if (frame === undefined || frame.acceptedAt >= to) return
    const text = new BatchText(job.format)
    for (let index = Math.max(0, position - frame.first); index < frame.count && left > 0; index++) {
      const record = frame.record(index)
      if (!job.keeps(record) || !job.samples(frame.first + index)) continue
      text.add(record)
      left--
    }
    position = frame.first + frame.count
    frame.release()
    if (text.records > 0) yield text.close()
    await loop.yieldToEventLoop()
  }
}

/** Texts of the records in which a string field has a value, newest first. The value has no character that JSON escapes. */
export async function* recordsWith(
  spool: Pick<Spool, 'end' | 'before'>,
  job: CompiledJob,
  { field, value }: { readonly field: string; readonly value: string },
): AsyncGenerator<Uint8Array, void, undefined> {
  const loop = new EventLoopYield()
  const place = job.dataset.places.get(field)
  if (place === undefined) return
  const places = Int16Array.of(place)
  const wanted = Buffer.from(JSON.stringify(value))
  const isWanted = (frame: Frame, index: number): boolean => {
    const { bytes, starts, ends } = frame.record(index, places)
    const [start = -1, end = -1] = [starts[place], ends[place]]
    return end - start === wanted.length && wanted.compare(bytes, start, end) === 0
  }
  for (let position = spool.end; ;) {
    const frame = await spool.before(position)
    if (frame === undefined) return
    const text = new BatchText(job.format)
    for (let index = frame.count - 1; index >= 0; index--) if (isWanted(frame, index)) text.add(frame.record(index))
    position = frame.first
    frame.release()
    if (text.records > 0) yield text.close()
    await loop.yieldToEventLoop()
  }
}
