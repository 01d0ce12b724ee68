import type { Output } from '../../records/index.js'
import type { CompiledJob } from '../settings/compiled-job.js'
import type { JobRows } from './shared-rows.js'
import type { Frame } from '../spool/types.js'

/** The lines of one frame as a job writes them. */
export interface FormattedBlock {
  /** Lines, each with the delimiter before it. */
  readonly text: Uint8Array
  /** Index of the record of each line, ascending. */
  readonly indexes: Int32Array
  /** End offset of each line in the text. */
  readonly ends: Int32Array
}

/** Formats a block, whose text is valid until `output` is used again. `shared` are rows of the job. */
export function formattedBlock(
  frame: Frame,
  { keeps, looks, writes, format }: CompiledJob,
  output: Output,
  shared?: JobRows,
): FormattedBlock {
  const rows = shared?.begin(frame) ? shared : undefined
  const indexes = new Int32Array(frame.count)
  const ends = new Int32Array(frame.count)
  let lines = 0
  output.length = 0
  for (let index = 0; index < frame.count; index++) {
    if (!keeps(frame.record(index, looks))) continue
    output.append(format.delimiter)
    if (rows?.has(frame, index)) rows.write(index, output)
    else format.write(frame.record(index, writes), output)
    indexes[lines] = index
    ends[lines++] = output.length
  }
  const text = output.bytes.subarray(0, output.length)
  return { text, indexes: indexes.slice(0, lines), ends: ends.slice(0, lines) }
}

/** Returns the first line whose record index is at least `index`. */
export const lineAt = ({ indexes }: FormattedBlock, index: number): number => firstNotBelow(indexes, index, 0)

/** Returns how many lines, starting at `line`, fit into `bytes`. */
export function linesWithin({ ends }: FormattedBlock, line: number, bytes: number): number {
  const from = line === 0 ? 0 : ends[line - 1]!
  return firstNotBelow(ends, from + bytes + 1, line) - line
}

/**
 * Returns how many lines, starting at `line`, have at least `bytes` together. If they have less, returns the
 * number of remaining lines.
 */
export function linesUpTo({ ends }: FormattedBlock, line: number, bytes: number): number {
  const from = line === 0 ? 0 : ends[line - 1]!
  return Math.min(ends.length, firstNotBelow(ends, from + bytes, line) + 1) - line
}

/** Text of `count` lines from `line` on. */
export const linesOf = ({ text, ends }: FormattedBlock, line: number, count: number): Uint8Array =>
  text.subarray(line === 0 ? 0 : ends[line - 1]!, ends[line + count - 1])

/** Returns the index of the first number, starting at `from`, that is not below `least`. Numbers are ascending. */
function firstNotBelow(numbers: Int32Array, least: number, from: number): number {
  let low = from
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (numbers[middle]! < least) low = middle + 1
    else high = middle
  }
  return low
}
