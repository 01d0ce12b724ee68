import { bindingKind, Ref } from './binding-kind.js'

/** A service in a private network. */
export const vpcService = bindingKind({
  type: 'vpc_service',
  description: 'A service in a private network.',
  fields: { service_id: Ref('Id of the service.') },
  example: { service_id: '0195b1e2-7a4c-7c3e-9f43-2d6b5a1c0e9f' },
})
