import { bindingKind } from './binding-kind.js'

/** Loads other Workers at run time. */
export const workerLoader = bindingKind({
  type: 'worker_loader',
  description: 'Loads other Workers at run time.',
})
