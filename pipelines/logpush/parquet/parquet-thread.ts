/** A thread that writes Parquet files (see `thread.ts`), because a row group takes longer than a request may wait. */
import { parentPort } from 'node:worker_threads'
import { ParquetEncoder } from './encoder.js'
import type { FromThread, ToThread } from './thread.js'

const encoders = new Map<number, ParquetEncoder>()

function bytesOf({ id, columns, text, last }: ToThread): Uint8Array {
  const encoder = encoders.get(id) ?? new ParquetEncoder(columns ?? [])
  encoders.set(id, encoder)
  if (text === undefined) {
    encoders.delete(id)
    return new Uint8Array(0)
  }
  const ready = encoder.add(text)
  if (!last) return ready
  encoders.delete(id)
  return Buffer.concat([ready, encoder.end()])
}

parentPort?.on('message', (message: ToThread) => {
  let response: FromThread
  try {
    response = { id: message.id, bytes: bytesOf(message) }
  } catch (error) {
    encoders.delete(message.id)
    response = { id: message.id, error: error instanceof Error ? error.message : String(error) }
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
  parentPort?.postMessage(response)
})
