import { bindingKind } from './binding-kind.js'

/** The static assets of the script itself. */
export const assets = bindingKind({
  type: 'assets',
  description: 'The static assets of the script itself.',
})
