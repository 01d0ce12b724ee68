import { Type } from 'typebox'
import { strict } from '../src/core/schema.js'
import { ACCESS_KEYS, bucketOf, keysOf } from './objects/bucket.js'
import { FORMAT } from './objects/format.js'
import { s3Like } from './objects/s3-like.js'
import type { S3Place } from './objects/s3-store.js'
import { reject } from './contract/params.js'

/**
 * Gzipped objects in Google Cloud Storage, over its XML interface, which accepts HMAC keys and S3 requests. Without
 * keys, the environment variables GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY are used, and the owner of a job has to
 * prove that they own the bucket.
 */
export const gs = s3Like({
  scheme: 'gs',
  form: 'gs://bucket/folder/{DATE}',
  summary: 'a gzipped object',
  params: Type.Object({ ...ACCESS_KEYS, format: FORMAT }, strict),

  ownership: (given) => keysOf(given) === undefined,

  place(destination, given) {
    const bucket = bucketOf(destination)
    const credentials = keysOf(given) ?? environmentKeys() ?? reject('needs access-key-id and secret-access-key')
    return { bucket, region: 'auto', credentials, endpoint: 'https://storage.googleapis.com' }
  },
})

function environmentKeys(): S3Place['credentials'] {
  const { GS_ACCESS_KEY_ID: accessKeyId, GS_SECRET_ACCESS_KEY: secretAccessKey } = process.env
  return accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined
}
