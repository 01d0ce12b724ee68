import { bindingKind, Ref } from './binding-kind.js'

/** A destination for lines of a log. */
export const logfwdr = bindingKind({
  type: 'logfwdr',
  description: 'A destination for lines of a log.',
  fields: { destination: Ref('Name of the destination.') },
  example: { destination: 'audit' },
})
