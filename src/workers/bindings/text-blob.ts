import { bindingKind, Ref } from './binding-kind.js'

/** An uploaded part as text, for service-worker scripts. */
export const textBlob = bindingKind({
  type: 'text_blob',
  description: 'An uploaded part as text, for service-worker scripts.',
  fields: { part: Ref('Name of the part.') },
  example: { part: 'blob.bin' },
  part: 'part',
})
