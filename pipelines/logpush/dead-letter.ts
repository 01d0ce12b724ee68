import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { Batch, BatchBody, Encoding, Sink } from '../../src/core/sink.js'
import type { Uploads } from './uploads.js'

const gzipped = promisify(gzip)
const gunzipped = promisify(gunzip)

/** Takes what the destination of a job never will. */
export interface DeadLetter {
  /** Whether the batch is kept; false where there is no place for it. Rejects with a SinkError where that takes it not now. */
  keep(batch: Batch, signal: AbortSignal): Promise<boolean>
  close(): Promise<void>
}

/** Writes to `sink`; without one nothing is kept. */
export const deadLetter = (sink: Sink | undefined, uploads: Uploads): DeadLetter => ({
  async keep(batch, signal) {
    if (sink === undefined) return false
    const body = await encoded(batch.body, sink.encoding)
    await uploads.attempt({ sink, batch: { ...batch, body }, destination: 'dead letter', failing: false }, signal)
    return true
  },
  async close() {
    await sink?.close()
  },
})

/** A body of a single record in the encoding that a sink wants. */
async function encoded(body: BatchBody, encoding: Encoding): Promise<BatchBody> {
  if (body.encoding === encoding) return body
  const bytes = await body.bytes()
  const other = encoding === 'gzip' ? await gzipped(bytes) : await gunzipped(bytes)
  return {
    length: other.length,
    encoding,
    async *read() {
      yield other
    },
    bytes: async () => other,
  }
}
