import { bindingKind, Ref } from './binding-kind.js'

/** An uploaded part as data, for service-worker scripts. */
export const dataBlob = bindingKind({
  type: 'data_blob',
  description: 'An uploaded part as data, for service-worker scripts.',
  fields: { part: Ref('Name of the part.') },
  example: { part: 'blob.bin' },
  part: 'part',
})
