import { BatchText, MalformedRecord, recordCheck, scannerOf, SubrequestMerger, UnfitRecord } from '../records/index.js'
import type { CompiledJob } from '../logpush/settings/compiled-job.js'

/** Result for a few records, given as JSON texts. */
export interface SmallBatch {
  /** Text of the one batch. Empty if no record is kept. */
  readonly text: string
  /** Invalid records, with their number from 1 and the reason. */
  readonly rejected: readonly { readonly record: number; readonly message: string }[]
}

/**
 * Makes one batch of records as a run would, without any limit on its size. `read` returns the JSON text of a record
 * in bytes of its own, and may throw UnfitRecord.
 */
export function batchOf(
  job: CompiledJob,
  records: readonly string[],
  read: (record: string, index: number) => Uint8Array = (record) => Buffer.from(record),
): SmallBatch {
  const { dataset, stored, view, format, keeps, samples, merge } = job
  const shape = job.shape?.()
  const dedupe = job.dedupe?.()
  const scanner = view?.() ?? scannerOf(stored)
  const check = recordCheck(stored)
  const incoming = scannerOf(stored)
  const rejected: { record: number; message: string }[] = []
  const valid = records.flatMap((text, index) => {
    try {
      const line = read(text, index)
      check(incoming.scan(line))
      return [line]
    } catch (error) {
      if (!(error instanceof MalformedRecord || error instanceof UnfitRecord)) throw error
      rejected.push({ record: index + 1, message: error.message })
      return []
    }
  })
  const batch = new BatchText(format)
  const merger = merge && new SubrequestMerger(dataset, merge)
  const lines = merger ? [...valid.flatMap((line, at) => merger.add(line, 0, at)), ...merger.rest()] : valid
  for (const [position, line] of lines.entries()) {
    const record = scanner.scan(line)
    if (!keeps(record) || dedupe?.repeats(record, position, 0) || !samples(position)) continue
    batch.add(shape?.(record) ?? record)
  }
  return { text: batch.records === 0 ? '' : Buffer.from(batch.close()).toString(), rejected }
}
