import { BatchBuilder } from '../../../pipelines/logpush/batches/batch-builder.js'
import type { BatchBuffer } from '../../../pipelines/logpush/batches/batch-buffer.js'
import type { CompiledJob } from '../../../pipelines/logpush/settings/compiled-job.js'
import { openReader } from '../../../pipelines/logpush/reader.js'
import type { Shared } from '../../../pipelines/logpush/batches/shared-formatting.js'
import type { JobFilter } from '../../../pipelines/logpush/batches/shared-filters.js'
import type { JobRows } from '../../../pipelines/logpush/batches/shared-rows.js'
import type { ReadableSpool } from '../../../pipelines/logpush/spool/types.js'

/** What a job makes of a spool from a position on, batch after batch. */
export async function batchesOf(
  spool: ReadableSpool,
  job: CompiledJob,
  staging: BatchBuffer,
  of: {
    readonly from: number
    readonly bytes: number
    readonly records: number
    readonly shared?: Shared
    readonly rows?: JobRows | undefined
    readonly filter?: JobFilter | undefined
  },
) {
  const { from, bytes, records, shared, rows, filter } = of
  const reader = await openReader(spool, job, { position: from, skip: 0 })
  const made: { end: number; records: number; size: number; bytes: Buffer }[] = []
  const begin = () =>
    new BatchBuilder(job, { bytes, records, intervalMs: Infinity }, staging.begin('gzip', 3), staging.buffers, {
      shared,
      rows,
      filter,
    })
  const close = async (batch: BatchBuilder) => {
    const ready = await batch.close(reader.place, () => 'name')
    made.push({
      end: ready.end.position,
      records: ready.records,
      size: ready.size,
      bytes: Buffer.from(await ready.body.bytes()),
    })
    await ready.body.discard()
  }
  let batch = begin()
  for (let lines = await reader.next(); lines !== undefined; lines = await reader.next()) {
    let index = lines.begin
    while (index < lines.count && !batch.full) {
      index = batch.add(lines, index, lines.count)
      await batch.flush()
    }
    reader.at(lines, index)
    if (!batch.full) continue
    await close(batch)
    batch = begin()
  }
  if (batch.records > 0) await close(batch)
  return made
}
