import { bindingKind, Ref } from './binding-kind.js'

/** All search instances of a namespace. */
export const aiSearchNamespace = bindingKind({
  type: 'ai_search_namespace',
  description: 'All search instances of a namespace.',
  fields: { namespace: Ref('The namespace.') },
  example: { namespace: 'default' },
})
