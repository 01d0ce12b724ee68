import type { Clock } from '../../src/core/clock.js'
import { MalformedRecord, UnfitRecord } from '../records/index.js'
import { SpoolFull, type FrameWriter } from '../logpush/spool/types.js'
import { streamBytes } from './byte-source.js'
import { damageMessage, isDamage, mayBeWhole } from './damage.js'
import { LineBlocks, MAX_LINE_BYTES, type LineBlock } from './line-blocks.js'
import { ndjson } from './ndjson.js'

/** An invalid record: its line, from 1, or its place in an array. */
export type Reject = (line: number, message: string) => void

/** Bytes that a writer collects before they are committed. */
export const COMMIT_BYTES = 256 * 1024

interface Intake {
  readonly reject: Reject
  readonly commit: () => Promise<void>
  readonly taken: IntakeCount
  readonly damaged?: (message: string) => void
}

/** What records are added to. */
type RecordWriter = Pick<FrameWriter, 'add' | 'count' | 'size'>

/** Hands records of a source to a writer; how many there were, invalid ones included. */
export interface IntakeCount {
  read: number
}

/**
 * Takes all records of an input into a writer, and commits whenever enough have come together and at the end of what is
 * there by now. `commit` decides what to do about a spool that is full. If the input is damaged, `damaged` is called after
 * the records in front of that; without it the error is thrown.
 */
export async function intakeRecords(
  input: AsyncIterable<Uint8Array>,
  writer: RecordWriter,
  { reject, commit, taken, damaged }: Intake,
): Promise<void> {
  const blocks = new LineBlocks(streamBytes(ndjson(input)))
  let line = 1
  let through = 0
  const add = async (block: LineBlock): Promise<void> => {
    for (let at = 0; at < block.count; at++) {
      addLine(block, at, writer, { line: line + at, reject, taken })
      if (writer.size >= COMMIT_BYTES) await commit()
    }
    line += block.count
    through = block.end
    if (writer.count > 0) await commit()
  }
  try {
    for (let block = await blocks.next(); block !== undefined; block = await blocks.next()) await add(block)
    const rest = blocks.rest()
    if (rest !== undefined) await add(rest)
  } catch (error) {
    if (damaged === undefined || !isDamage(error)) throw error
    const rest = blocks.rest()
    if (rest !== undefined && mayBeWhole(rest)) {
      const before = taken.read
      addLine(rest, 0, writer, { line, reject: () => void taken.read--, taken })
      if (taken.read > before) {
        line++
        through = rest.end
      }
      if (writer.count > 0) await commit()
    }
    damaged(damageMessage(error, line - 1, through))
  } finally {
    await blocks.close()
  }
}

function addLine(
  { bytes, starts, ends }: LineBlock,
  at: number,
  writer: RecordWriter,
  { line, reject, taken }: { line: number; reject: Reject; taken: IntakeCount },
): void {
  const start = starts[at]!
  const end = ends[at]!
  if (isBlank(bytes, start, end)) return
  taken.read++
  try {
    if (end < 0) throw new UnfitRecord(`the record is longer than ${MAX_LINE_BYTES} bytes`)
    writer.add(bytes, start, end)
  } catch (error) {
    if (!(error instanceof MalformedRecord || error instanceof UnfitRecord)) throw error
    reject(line, error.message)
  }
}

/** Whether a line is empty, but for the carriage return or blanks of some writers. */
export function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at]! > 0x20) return false
  return end >= start
}

/**
 * Commits, and waits while the spool is full: for sources that can be made to wait. `waiting` is called at each attempt,
 * for example to show a server that its client still works.
 */
export async function commitPatiently(
  writer: FrameWriter,
  clock: Clock,
  signal: AbortSignal,
  waiting?: () => Promise<unknown>,
): Promise<void> {
  for (;;) {
    try {
      return await writer.commit()
    } catch (error) {
      if (!(error instanceof SpoolFull)) throw error
    }
    await waiting?.()
    await clock.sleep(FULL_MS, signal)
  }
}

const FULL_MS = 250
