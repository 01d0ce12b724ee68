import type { RecordTransform } from '../../src/core/extension/record-transform.js'
import {
  BatchText,
  MalformedRecord,
  Output,
  recordCheck,
  scannerOf,
  SubrequestMerger,
  UnfitRecord,
  type ScannedRecord,
} from '../records/index.js'
import type { CompiledJob } from '../logpush/settings/compiled-job.js'
import { endLine } from '../logpush/transform/transformed-lines.js'

/** Result for a few records, given as JSON texts. */
export interface SmallBatch {
  /** Text of the one batch. Empty if no record is kept. */
  readonly text: string
  /** Invalid records, with their number from 1 and the reason. */
  readonly rejected: readonly Rejected[]
}

interface Rejected {
  readonly record: number
  readonly message: string
}

/** Returns the JSON text of a record in bytes of its own. May throw UnfitRecord. */
type ReadRecord = (record: string, index: number) => Uint8Array

const asText: ReadRecord = (record) => Buffer.from(record)

/** Makes one batch of records as a run would, without any limit on its size. The job has no transform. */
export function batchOf(job: CompiledJob, records: readonly string[], read = asText): SmallBatch {
  const rejected: Rejected[] = []
  const lines = linesOf(job, records, read, rejected)
  const shape = job.shape?.()
  const scanner = job.view?.() ?? scannerOf(job.stored)
  const batch = new BatchText(job.format)
  for (const { line } of chosen(job, lines)) {
    const record = scanner.scan(line)
    batch.add(shape?.(record) ?? record)
  }
  return { text: textOf(batch), rejected }
}

/** The same for a job with a transform. */
export async function changedBatchOf(
  job: CompiledJob,
  records: readonly string[],
  transform: RecordTransform,
  read = asText,
): Promise<SmallBatch> {
  const rejected: Rejected[] = []
  const given = [...chosen(job, linesOf(job, records, read, rejected))]
  const { bytes, starts, ends, firsts, invalid } = await transform.run(...asLines(given))
  const shape = job.shape?.()
  const batch = new BatchText(job.format)
  const check = checked(job.arriving)
  for (const [index, { position }] of given.entries()) {
    const reason = invalid.get(index)
    try {
      if (reason !== undefined) throw new UnfitRecord(reason)
      const texts = starts
        .slice(firsts[index], firsts[index + 1])
        .map((from, at) => bytes.slice(from, ends[firsts[index]! + at]))
      for (const text of texts) check(text)
      for (const text of texts) {
        const record = check(text)
        batch.add(shape?.(record) ?? record)
      }
    } catch (error) {
      rejected.push({ record: position + 1, message: `transform: ${invalidMessage(error)}` })
    }
  }
  return { text: textOf(batch), rejected: rejected.toSorted((a, b) => a.record - b.record) }
}

/** Returns the text for a module, and the end of each line. */
function asLines(lines: readonly Line[]): [text: Uint8Array, ends: number[]] {
  const output = new Output()
  const ends = lines.map(({ line }) => {
    const from = output.length
    output.append(line)
    endLine(output, from)
    return output.length
  })
  return [output.bytes.subarray(0, output.length), ends]
}

interface Line {
  readonly line: Uint8Array
  /** Index of the record. Merged records have their index among all merged records. */
  readonly position: number
}

/** Returns the lines of valid records, with subrequests merged. */
function linesOf(job: CompiledJob, records: readonly string[], read: ReadRecord, rejected: Rejected[]): Line[] {
  const { dataset, stored, merge } = job
  const check = checked(stored)
  const valid = records.flatMap((text, position): Line[] => {
    try {
      const line = read(text, position)
      check(line)
      return [{ line, position }]
    } catch (error) {
      rejected.push({ record: position + 1, message: invalidMessage(error) })
      return []
    }
  })
  const merger = merge && new SubrequestMerger(dataset, merge)
  if (merger === undefined) return valid
  const merged = [...valid.flatMap(({ line }, at) => merger.add(line, 0, at)), ...merger.rest()]
  return merged.map((line, position) => ({ line, position }))
}

/** Yields the lines that the job keeps. */
function* chosen({ stored, view, dedupe: open, keeps, samples }: CompiledJob, lines: readonly Line[]): Generator<Line> {
  const dedupe = open?.()
  const scanner = view?.() ?? scannerOf(stored)
  for (const [key, line] of lines.entries()) {
    const record = scanner.scan(line.line)
    if (keeps(record) && !dedupe?.repeats(record, key, 0) && samples(key)) yield line
  }
}

/** Returns a function that scans and checks a record. It throws MalformedRecord and UnfitRecord. */
function checked(dataset: CompiledJob['stored']): (line: Uint8Array) => ScannedRecord {
  const scanner = scannerOf(dataset)
  const check = recordCheck(dataset)
  return (line) => {
    const record = scanner.scan(line)
    check(record)
    return record
  }
}

function invalidMessage(error: unknown): string {
  if (error instanceof MalformedRecord || error instanceof UnfitRecord) return error.message
  throw error
}

const textOf = (batch: BatchText): string => (batch.records === 0 ? '' : Buffer.from(batch.close()).toString())
