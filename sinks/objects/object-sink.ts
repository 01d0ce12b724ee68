import { gzipSync } from 'node:zlib'
import type { Clock } from '../../src/core/clock.js'
import type { BatchBody, Sink } from '../../src/core/sink.js'
import { TEST_TEXT } from '../contract/sink-type.js'
import type { Folder } from './folder.js'
import type { ObjectFormat } from './format.js'

/** Stores bytes under names. S3, compatible stores and Azure implement it. Everything rejects with a SinkError. */
export interface ObjectStore {
  /** Prefix of a key in messages, which is the bucket. */
  readonly label: string
  /** Writes an object completely or not at all. Replaces one of the same name. */
  put(key: string, bytes: Uint8Array, type: ContentType, signal: AbortSignal): Promise<void>
  /** Stores a body of any size. A large body is sent in parts. */
  upload(key: string, body: BatchBody, type: ContentType, signal: AbortSignal): Promise<void>
  close(): void
}

export type ContentType = 'application/gzip' | 'application/x-tar' | 'application/vnd.apache.parquet' | 'text/plain'

/** Maximum size of a body that is one request. Larger ones are sent in parts of half this size. */
const WHOLE_BYTES = 16 * 1024 * 1024
export const PART_BYTES = WHOLE_BYTES / 2

/** A destination where each batch is an object: `<folder>/<name>.log.gz`, or with `format` parquet `<name>.parquet`. */
export function objectSink(store: ObjectStore, folder: Folder, clock: Clock, format?: ObjectFormat): Sink {
  const isParquet = format === 'parquet'
  const type = isParquet ? 'application/vnd.apache.parquet' : 'application/gzip'
  const end = isParquet ? 'parquet' : 'log.gz'
  return {
    encoding: isParquet ? 'parquet' : 'gzip',
    limits: {},
    daily: folder.daily,

    async write({ name, from, body }, signal) {
      const key = folder.key(`${name}.${end}`, from)
      if (body.length > WHOLE_BYTES) await store.upload(key, body, type, signal)
      else await store.put(key, await body.bytes(), type, signal)
    },

    async check(signal) {
      await store.put(folder.key('test.txt.gz', today()), gzipSync(TEST_TEXT), 'application/gzip', signal)
    },

    async put(name, text, signal) {
      const key = folder.key(name, today())
      await store.put(key, Buffer.from(text), 'text/plain', signal)
      return `${store.label}/${key}`
    },

    async close() {
      store.close()
    },
  }

  function today(): Date {
    return new Date(clock.now())
  }
}
