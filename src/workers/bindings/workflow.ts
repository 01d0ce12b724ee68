import { Type } from 'typebox'
import { bindingKind, Ref } from './binding-kind.js'

/** A workflow. */
export const workflow = bindingKind({
  type: 'workflow',
  description: 'A workflow.',
  fields: {
    workflow_name: Ref('Name of the workflow.'),
    class_name: Type.Optional(Ref('Its class, where this script has it.')),
    script_name: Type.Optional(Ref('The script that has it. Default: this one.')),
  },
  example: { workflow_name: 'orders', class_name: 'Orders' },
})
