import { bucketOf, keysOf } from './objects/bucket.js'
import { folderOf } from './objects/folder.js'
import { objectSink } from './objects/object-sink.js'
import { s3Store, type S3Place } from './objects/s3-store.js'
import { params, refuse } from './params.js'
import type { SinkType } from './sink-type.js'

const KNOWN = ['account-id', 'access-key-id', 'secret-access-key', 'jurisdiction'] as const
const JURISDICTIONS = ['eu', 'fedramp']

/**
 * `r2://bucket/folder?account-id=A&access-key-id=..&secret-access-key=..[&jurisdiction=eu]`: gzipped objects in an R2
 * bucket, over its S3 interface.
 */
export const r2: SinkType = {
  scheme: 'r2',
  secrets: ['access-key-id', 'secret-access-key'],

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
  const given = params(destination, KNOWN)
  const account = given['account-id']
  if (account === undefined || !/^[0-9a-f]{32}$/.test(account)) refuse('needs the parameter account-id, 32 hex digits')
  const { jurisdiction } = given
  if (jurisdiction !== undefined && !JURISDICTIONS.includes(jurisdiction))
    refuse(`has a parameter jurisdiction other than ${JURISDICTIONS.join(' or ')}`)
  const credentials = keysOf(given) ?? refuse('needs access-key-id and secret-access-key')
  const name = jurisdiction === undefined ? account : `${account}.${jurisdiction}`
  return { bucket, region: 'auto', credentials, endpoint: `https://${name}.r2.cloudflarestorage.com` }
}
