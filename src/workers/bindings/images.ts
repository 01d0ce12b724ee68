import { bindingKind } from './binding-kind.js'

/** Transformations of images. */
export const images = bindingKind({
  type: 'images',
  description: 'Transformations of images.',
})
