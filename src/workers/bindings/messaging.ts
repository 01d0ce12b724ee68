import { bindingKind, Ref } from './binding-kind.js'

/** A messaging namespace. */
export const messaging = bindingKind({
  type: 'messaging',
  description: 'A messaging namespace.',
  fields: { namespace: Ref('The namespace.') },
  example: { namespace: 'orders' },
})
