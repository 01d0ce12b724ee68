import { bindingKind } from './binding-kind.js'

/** Models. */
export const ai = bindingKind({
  type: 'ai',
  description: 'Models.',
})
