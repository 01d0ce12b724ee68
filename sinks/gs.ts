import { bucketOf, keysOf } from './objects/bucket.js'
import { folderOf } from './objects/folder.js'
import { objectSink } from './objects/object-sink.js'
import { s3Store, type S3Place } from './objects/s3-store.js'
import { params, refuse } from './params.js'
import type { SinkType } from './sink-type.js'

const KNOWN = ['access-key-id', 'secret-access-key'] as const

/**
 * `gs://bucket/folder[?access-key-id=..&secret-access-key=..]`: gzipped objects in Google Cloud Storage, over its XML
 * interface, which takes HMAC keys and requests like those of S3. Without keys those of the environment variables
 * GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY are used, and the owner of a job has to prove that the bucket is theirs.
 */
export const gs: SinkType = {
  scheme: 'gs',
  secrets: ['access-key-id', 'secret-access-key'],

  ownership: (destination) => keysOf(params(destination, KNOWN)) === undefined,

  check(destination) {
    placeOf(destination)
    folderOf(destination)
  },

  open(destination, deps) {
    return objectSink(s3Store(placeOf(destination), deps), folderOf(destination), deps.clock)
  },
}

function placeOf(destination: URL): S3Place {
  const bucket = bucketOf(destination)
  const credentials =
    keysOf(params(destination, KNOWN)) ?? ownKeys() ?? refuse('needs access-key-id and secret-access-key')
  return { bucket, region: 'auto', credentials, endpoint: 'https://storage.googleapis.com' }
}

function ownKeys(): S3Place['credentials'] {
  const { GS_ACCESS_KEY_ID: accessKeyId, GS_SECRET_ACCESS_KEY: secretAccessKey } = process.env
  return accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined
}
