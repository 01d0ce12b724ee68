import { Type, type Static } from 'typebox'
import { strict } from '../src/core/schema.js'
import { ACCESS_KEYS, bucketOf, ENDPOINT, endpointOf, keysOf, REGION } from './objects/bucket.js'
import { FORMAT } from './objects/format.js'
import { folderOf } from './objects/folder.js'
import { s3Like } from './objects/s3-like.js'
import { s3Store, type S3Place, type S3Store } from './objects/s3-store.js'
import { choice, paramReader, reject } from './contract/params.js'
import type { SinkDeps } from './contract/sink-type.js'

const PARAMS = Type.Object(
  {
    region: REGION,
    ...ACCESS_KEYS,
    format: FORMAT,
    endpoint: ENDPOINT,
    sse: Type.Optional(choice('Server-side encryption of new objects.', ['AES256'])),
  },
  strict,
)

function place(
  destination: URL,
  given: Static<typeof PARAMS>,
  deps: Pick<SinkDeps, 'allowPlainHttp' | 'egress'>,
): S3Place {
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
}

/**
 * Gzipped objects in Amazon S3, or with `endpoint` in a server with the same API, which takes keys and path-style names.
 * Without keys the credentials of the daemon are used, and the owner of a job has to prove that the bucket is theirs.
 */
export const s3 = s3Like({
  scheme: 's3',
  form: 's3://bucket/folder/{DATE}',
  summary: 'a gzipped object',
  params: PARAMS,
  ownership: (given) => given.endpoint === undefined && keysOf(given) === undefined,
  place,
})

const read = paramReader(PARAMS)

/** Opens the bucket of a destination for files as they are, and returns it with the prefix of their keys. */
export function s3Files(
  destination: URL,
  deps: Pick<SinkDeps, 'allowPlainHttp' | 'egress' | 'clock'>,
): { readonly store: S3Store; readonly prefix: string } {
  const prefix = folderOf(destination).key('', new Date(0))
  return { store: s3Store(place(destination, read(destination), deps), deps), prefix }
}
