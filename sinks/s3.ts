import { Type } from 'typebox'
import { strict } from '../src/core/schema.js'
import { ACCESS_KEYS, bucketOf, ENDPOINT, endpointOf, keysOf, REGION } from './objects/bucket.js'
import { FORMAT } from './objects/format.js'
import { s3Like } from './objects/s3-like.js'
import { choice, reject } from './contract/params.js'

/**
 * Gzipped objects in Amazon S3, or with `endpoint` in a server with the same API, which takes keys and path-style names.
 * Without keys the credentials of the daemon are used, and the owner of a job has to prove that the bucket is theirs.
 */
export const s3 = s3Like({
  scheme: 's3',
  form: 's3://bucket/folder/{DATE}',
  summary: 'a gzipped object',
  params: Type.Object(
    {
      region: REGION,
      ...ACCESS_KEYS,
      format: FORMAT,
      endpoint: ENDPOINT,
      sse: Type.Optional(choice('Server-side encryption of new objects.', ['AES256'])),
    },
    strict,
  ),

  ownership: (given) => given.endpoint === undefined && keysOf(given) === undefined,

  place(destination, given, deps) {
    const { region, endpoint, sse } = given
    const bucket = bucketOf(destination)
    const credentials = keysOf(given)
    const encryption = sse === undefined ? {} : { ServerSideEncryption: sse }

    if (endpoint === undefined) {
      // The owner of a bucket can read objects that other accounts wrote.
      const object = { ACL: 'bucket-owner-full-control' as const, ...encryption }
      return { bucket, region, ...(credentials && { credentials }), object }
    }
    // The daemon's own credentials must not sign requests to another server.
    if (!credentials) reject('has an endpoint and needs access-key-id and secret-access-key')
    return { bucket, region, credentials, endpoint: endpointOf(endpoint, deps), object: encryption }
  },
})
