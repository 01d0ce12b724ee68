import { bindingKind, Ref } from './binding-kind.js'

/** A dataset that the script writes to. */
export const analyticsEngine = bindingKind({
  type: 'analytics_engine',
  description: 'A dataset that the script writes to.',
  fields: { dataset: Ref('Name of the dataset.') },
  example: { dataset: 'visits' },
})
