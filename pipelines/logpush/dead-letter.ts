import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { RecordsRefused, type Batch, type BatchBody, type Encoding, type Sink } from '../../src/core/sink.js'
import type { Uploads } from './uploads.js'

const gzipped = promisify(gzip)
const gunzipped = promisify(gunzip)

/** Stores records that the destination of a job never accepts. */
export interface DeadLetter {
  /** Whether there is such a place. */
  readonly keeps: boolean
  /**
   * Returns how many records of the batch are stored. It is 0 without a dead letter destination. Rejects with a
   * SinkError if the destination cannot accept them now.
   */
  keep(batch: Batch, signal: AbortSignal): Promise<number>
  /** Returns the path of the file that has a batch. Null if the destination is not a local folder. */
  pathOf(batch: Batch): string | null
  close(): Promise<void>
}

/** Creates a dead letter destination that writes to `sink`. Without a sink nothing is stored. */
export const deadLetter = (sink: Sink | undefined, uploads: Uploads): DeadLetter => ({
  keeps: sink !== undefined,
  async keep(batch, signal) {
    if (sink === undefined) return 0
    const body = await encoded(batch.body, sink.encoding)
    try {
      await uploads.attempt({ sink, batch: { ...batch, body }, destination: 'dead letter', failing: false }, signal)
    } catch (error) {
      if (error instanceof RecordsRefused) return error.taken
      throw error
    }
    return batch.records
  },
  pathOf: ({ name, from }) => sink?.pathOf?.(name, from) ?? null,
  async close() {
    await sink?.close()
  },
})

/** Returns a body of rejected records in the encoding that a sink needs. It has few records. */
async function encoded(body: BatchBody, encoding: Encoding): Promise<BatchBody> {
  if (body.encoding === encoding) return body
  const bytes = await body.bytes()
  if (encoding === 'gzip') return bodyOf(await gzipped(bytes), encoding)
  return bodyOf(body.encoding === 'gzip' ? await gunzipped(bytes) : bytes, encoding)
}

/** Some bytes as a body. */
export const bodyOf = (bytes: Uint8Array, encoding: Encoding): BatchBody => ({
  length: bytes.length,
  encoding,
  async *read() {
    yield bytes
  },
  bytes: async () => bytes,
})
