import { Type } from 'typebox'
import { orNull } from '../../core/schema.js'
import { bindingKind, Ref } from './binding-kind.js'

/** The objects of a Durable Object class, of this script or another. */
export const durableObjectNamespace = bindingKind({
  type: 'durable_object_namespace',
  description: 'The objects of a Durable Object class, of this script or another.',
  fields: {
    class_name: Type.Optional(Ref('The exported class.')),
    script_name: Type.Optional(Ref('The script that has it. Default: this one.')),
    environment: Type.Optional(Ref('Environment of that script.')),
    dispatch_namespace: Type.Optional(Ref('The dispatch namespace of that script.')),
    namespace_id: Type.Optional(Ref('Id of the namespace, in place of the class.')),
    retry: Type.Optional(
      orNull(
        Type.Object(
          {
            max_attempts: Type.Optional(
              orNull(Type.Integer({ minimum: 0, description: 'After the first request. Default: 4.' })),
            ),
            timeout_ms: Type.Optional(
              orNull(Type.Integer({ minimum: 0, description: 'Since the call began. Default: 10000.' })),
            ),
          },
          { description: 'How calls that fail are tried again. Upper bounds.' },
        ),
      ),
    ),
  },
  example: { class_name: 'Counter' },

  check({ class_name, namespace_id }) {
    if (class_name !== undefined || namespace_id !== undefined) return []
    return [{ pointer: '/class_name', message: 'is required without namespace_id' }]
  },
})
