import { bindingKind, Ref } from './binding-kind.js'

/** A stream. */
export const k2 = bindingKind({
  type: 'k2',
  description: 'A stream.',
  fields: { stream: Ref('Name of the stream.') },
  example: { stream: 'events' },
})
