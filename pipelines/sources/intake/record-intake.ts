import type { Clock } from '../../../src/core/clock.js'
import { EventLoopYield, type Pause } from '../../../src/core/schedule/event-loop-yield.js'
import { assertLines, IntakeLimit, STEP_LINES, withStored } from '../../../src/core/schedule/intake-limits.js'
import { MalformedRecord, UnfitRecord } from '../../records/index.js'
import type { LineFormat } from '../../records/text/index.js'
import { SpoolFull, type FrameWriter } from '../../logpush/spool/types.js'
import { streamBytes } from '../lines/byte-source.js'
import { damageMessage, isDamage, mayBeWhole } from '../lines/damage.js'
import { LineBlocks, MAX_LINE_BYTES, type LineBlock } from '../lines/line-blocks.js'
import { recordText, type RecordText } from '../lines/record-text.js'
import { ndjson } from '../lines/ndjson.js'

/** Called for an invalid record with its line, from 1, or its index in an array. */
export type Reject = (line: number, message: string) => void

/** Bytes that a writer collects before they are committed. */
export const COMMIT_BYTES = 256 * 1024

interface Intake {
  readonly reject: Reject
  readonly commit: () => Promise<void>
  readonly taken: IntakeCount
  readonly damaged?: (message: string) => void
  /** Format of the lines. Undefined for JSON. */
  readonly lines?: LineFormat | undefined
  /** Called after each few lines. Yields to the event loop by default. */
  readonly pause?: Pause
  /** Maximum size of the input after decompression, and maximum number of its lines. Default is no limit. */
  readonly limits?: { readonly bytes: number; readonly lines: number }
}

const slices = new EventLoopYield()
const yieldToOthers: Pause = () => slices.yieldToEventLoop()
const UNLIMITED = { bytes: Infinity, lines: Infinity }

/** Target of records. */
type RecordWriter = Pick<FrameWriter, 'add' | 'count' | 'size'>

/** Number of records of a source, including invalid ones. */
export interface IntakeCount {
  read: number
}

/**
 * Adds all records of an input to a writer. Commits whenever enough records are collected, and at the end of the
 * available input. `commit` handles a full spool. If the input is damaged, calls `damaged` after the records before the
 * damage, or throws the error without it. Rejects with IntakeLimit after the records before a limit.
 */
export async function intakeRecords(
  input: AsyncIterable<Uint8Array>,
  writer: RecordWriter,
  { reject, commit, taken, damaged, lines, pause = yieldToOthers, limits = UNLIMITED }: Intake,
): Promise<void> {
  const isText = lines !== undefined
  const text = recordText(lines)
  const blocks = new LineBlocks(streamBytes(ndjson(input, { isText, maxBytes: limits.bytes, pause })))
  let line = 1
  let through = 0
  /** Lines that have been added or rejected. */
  let reached = 0
  const add = async (block: LineBlock): Promise<void> => {
    for (let at = 0; at < block.count; at++) {
      assertLines(line + at - 1, limits.lines)
      addLine(block, at, writer, { line: line + at, reject, taken, text })
      reached = line + at
      if (writer.size >= COMMIT_BYTES) await commit()
      // Some formats take much longer for a line than JSON.
      if (isText || at % STEP_LINES === 0) await pause()
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
    if (error instanceof IntakeLimit) {
      if (writer.count > 0) await commit()
      throw new IntakeLimit(withStored(error.message, reached), error.limit)
    }
    if (damaged === undefined || !isDamage(error)) throw error
    const rest = blocks.rest()
    if (rest !== undefined && !isText && mayBeWhole(rest)) {
      const before = taken.read
      addLine(rest, 0, writer, { line, reject: () => void taken.read--, taken, text })
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
  { line, reject, taken, text }: { line: number; reject: Reject; taken: IntakeCount; text: RecordText | undefined },
): void {
  const start = starts[at]!
  const end = ends[at]!
  if (isBlank(bytes, start, end)) return
  taken.read++
  try {
    if (end < 0) throw new UnfitRecord(`the record is longer than ${MAX_LINE_BYTES} bytes`)
    if (text === undefined) writer.add(bytes, start, end)
    else writer.add(text(bytes, start, end))
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
 * Commits, and waits while the spool is full, for sources that can wait. `waiting` is called at each attempt, for
 * example to show a server that its client still works.
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
