import { Type } from 'typebox'
import { strict } from '../src/core/schema.js'
import { ACCESS_KEYS, bucketOf, keysOf } from './objects/bucket.js'
import { FORMAT } from './objects/format.js'
import { s3Like } from './objects/s3-like.js'
import { choice, reject, text } from './contract/params.js'

/** Gzipped objects in an R2 bucket, over its S3 interface. */
export const r2 = s3Like({
  scheme: 'r2',
  form: 'r2://bucket/folder/{DATE}',
  summary: 'a gzipped object',
  params: Type.Object(
    {
      'account-id': text('Account of the bucket.', {
        pattern: '^[0-9a-f]{32}$',
        'x-message': 'is not an account id; it has 32 hexadecimal digits',
      }),
      ...ACCESS_KEYS,
      format: FORMAT,
      jurisdiction: Type.Optional(choice('Jurisdiction of the bucket.', ['eu', 'fedramp'])),
    },
    strict,
  ),

  place(destination, given) {
    const bucket = bucketOf(destination)
    const { 'account-id': account, jurisdiction } = given
    const credentials = keysOf(given) ?? reject('needs access-key-id and secret-access-key')
    const name = jurisdiction === undefined ? account : `${account}.${jurisdiction}`
    return { bucket, region: 'auto', credentials, endpoint: `https://${name}.r2.cloudflarestorage.com` }
  },
})
