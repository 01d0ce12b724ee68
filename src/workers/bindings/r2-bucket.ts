import { Type } from 'typebox'
import { bindingKind, Ref } from './binding-kind.js'

/** An R2 bucket. */
export const r2Bucket = bindingKind({
  type: 'r2_bucket',
  description: 'An R2 bucket.',
  fields: {
    bucket_name: Ref('Name of the bucket.'),
    jurisdiction: Type.Optional(Type.Enum(['eu', 'fedramp', 'fedramp-high', 'us'])),
  },
  example: { bucket_name: 'photos', jurisdiction: 'eu' },
})
