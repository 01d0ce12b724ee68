import { Type } from 'typebox'
import { bindingKind, Ref } from './binding-kind.js'

/** Another script. */
export const service = bindingKind({
  type: 'service',
  description: 'Another script.',
  fields: {
    service: Ref('Name of the script.'),
    environment: Type.Optional(Ref('Its environment.')),
    entrypoint: Type.Optional(Ref('The entrypoint to call. Default: the default export.')),
  },
  example: { service: 'auth', entrypoint: 'Admin' },
})
