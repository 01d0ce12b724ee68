import { bindingKind, Ref } from './binding-kind.js'

/** A vector index. */
export const vectorize = bindingKind({
  type: 'vectorize',
  description: 'A vector index.',
  fields: { index_name: Ref('Name of the index.') },
  example: { index_name: 'embeddings' },
})
