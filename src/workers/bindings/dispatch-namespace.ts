import { Type } from 'typebox'
import { bindingKind, Ref } from './binding-kind.js'

/** A namespace of scripts to dispatch to. */
export const dispatchNamespace = bindingKind({
  type: 'dispatch_namespace',
  description: 'A namespace of scripts to dispatch to.',
  fields: {
    namespace: Ref('Name of the namespace.'),
    outbound: Type.Optional(
      Type.Object(
        {
          params: Type.Optional(Type.Array(Type.Object({ name: Ref('Name of the parameter.') }))),
          worker: Type.Optional(
            Type.Object({
              service: Type.Optional(Ref('Name of the script.')),
              environment: Type.Optional(Ref('Its environment.')),
              entrypoint: Type.Optional(Ref('The entrypoint to call.')),
            }),
          ),
        },
        { description: 'What the requests of dispatched scripts go through.' },
      ),
    ),
  },
  example: { namespace: 'tenants' },
})
