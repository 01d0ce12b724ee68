import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BatchBuffer } from '../../../pipelines/logpush/batches/batch-buffer.js'

let buffer: Promise<BatchBuffer> | undefined

/** Batches of the jobs of all runs. They are small, so the folder stays empty. */
export function batchBuffer(): Promise<BatchBuffer> {
  if (buffer !== undefined) return buffer
  const folder = mkdtempSync(join(tmpdir(), 'simulator-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return (buffer = BatchBuffer.open(folder, { memoryBytes: Infinity }))
}
