import { bucketOf, endpointOf, keysOf, regionOf } from './objects/bucket.js'
import { folderOf } from './objects/folder.js'
import { objectSink } from './objects/object-sink.js'
import { s3Store, type S3Place } from './objects/s3-store.js'
import { params, refuse } from './params.js'
import type { SinkDeps, SinkType } from './sink-type.js'

const KNOWN = ['region', 'access-key-id', 'secret-access-key', 'endpoint', 'sse'] as const

/**
 * `s3://bucket/folder?region=R[&sse=AES256][&access-key-id=..&secret-access-key=..]`: gzipped objects in Amazon S3. With
 * `endpoint=HOST` in a server that speaks like it, which takes keys and path-style names. Without keys the credentials
 * that the daemon runs with are used, and the owner of a job has to prove that the bucket is theirs.
 */
export const s3: SinkType = {
  scheme: 's3',
  secrets: ['access-key-id', 'secret-access-key'],

  ownership(destination) {
    const given = params(destination, KNOWN)
    return given.endpoint === undefined && keysOf(given) === undefined
  },

  check(destination, deps) {
    placeOf(destination, deps)
    folderOf(destination)
  },

  open(destination, deps) {
    return objectSink(s3Store(placeOf(destination, deps), deps), folderOf(destination), deps.clock)
  },
}

function placeOf(destination: URL, deps: SinkDeps): S3Place {
  const bucket = bucketOf(destination)
  const given = params(destination, KNOWN)
  const region = regionOf(given.region)
  const credentials = keysOf(given)
  if (given.sse !== undefined && given.sse !== 'AES256') refuse('has a parameter sse other than AES256')
  const sse = given.sse === undefined ? {} : { ServerSideEncryption: 'AES256' as const }

  if (given.endpoint === undefined)
    return {
      bucket,
      region,
      ...(credentials && { credentials }),
      // The owner of a bucket can read what others put there.
      object: { ACL: 'bucket-owner-full-control', ...sse },
    }
  // The daemon's own credentials sign for nobody but AWS.
  if (!credentials) refuse('needs access-key-id and secret-access-key with an endpoint')
  return { bucket, region, credentials, endpoint: endpointOf(given.endpoint, deps), object: sse }
}
