import { bindingKind } from './binding-kind.js'

/** A browser to drive. */
export const browser = bindingKind({
  type: 'browser',
  description: 'A browser to drive.',
})
