import { bindingKind } from './binding-kind.js'

/** Videos. */
export const stream = bindingKind({
  type: 'stream',
  description: 'Videos.',
})
