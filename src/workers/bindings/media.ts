import { bindingKind } from './binding-kind.js'

/** Transformations of media. */
export const media = bindingKind({
  type: 'media',
  description: 'Transformations of media.',
})
