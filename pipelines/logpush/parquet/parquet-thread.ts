/** A thread that writes Parquet files (see `thread.ts`), because a row group takes longer than a request may wait. */
import { parentPort } from 'node:worker_threads'
import { ParquetEncoder } from './encoder.js'
import type { EncodedPart, FromThread, ToThread } from './thread.js'

const encoders = new Map<number, ParquetEncoder>()

function partOf({ id, columns, text, last }: ToThread): EncodedPart {
  const began = performance.now()
  const encoder = encoders.get(id) ?? new ParquetEncoder(columns ?? [])
  encoders.set(id, encoder)
  const { groups: before } = encoder
  const part = (bytes: Uint8Array): EncodedPart => ({
    bytes,
    groups: encoder.groups - before,
    ms: performance.now() - began,
  })
  if (text === undefined) {
    encoders.delete(id)
    return part(new Uint8Array(0))
  }
  const ready = encoder.add(text)
  if (!last) return part(ready)
  encoders.delete(id)
  return part(Buffer.concat([ready, encoder.end()]))
}

parentPort?.on('message', (message: ToThread) => {
  let response: FromThread
  try {
    response = { id: message.id, ...partOf(message) }
  } catch (error) {
    encoders.delete(message.id)
    response = { id: message.id, error: error instanceof Error ? error.message : String(error) }
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there are no origins
  parentPort?.postMessage(response)
})
