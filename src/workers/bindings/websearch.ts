import { bindingKind } from './binding-kind.js'

/** Searches of the web. */
export const websearch = bindingKind({
  type: 'websearch',
  description: 'Searches of the web.',
})
