import { bindingKind, Ref } from './binding-kind.js'

/** What agents remember. */
export const agentMemory = bindingKind({
  type: 'agent_memory',
  description: 'What agents remember.',
  fields: { namespace: Ref('Name of the namespace.') },
  example: { namespace: 'helpers' },
})
