import { bindingKind, Ref } from './binding-kind.js'

/** A pooled database connection. */
export const hyperdrive = bindingKind({
  type: 'hyperdrive',
  description: 'A pooled database connection.',
  fields: { id: Ref('Id of the connection.') },
  example: { id: 'f7f1d9d8a1b24b6c9f0e0c1d2e3f4a5b' },
})
