import { Type } from 'typebox'
import { bindingKind, Ref } from './binding-kind.js'

/** One search instance. */
export const aiSearch = bindingKind({
  type: 'ai_search',
  description: 'One search instance.',
  fields: {
    instance_name: Ref('Name of the instance.'),
    namespace: Type.Optional(Ref('Its namespace. Default: `default`.')),
  },
  example: { instance_name: 'docs' },
})
