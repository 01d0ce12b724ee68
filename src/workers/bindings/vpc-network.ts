import { Type } from 'typebox'
import { bindingKind } from './binding-kind.js'

/** A private network. */
export const vpcNetwork = bindingKind({
  type: 'vpc_network',
  description: 'A private network.',
  fields: {
    network_id: Type.Optional(Type.Literal('cf1:network')),
    tunnel_id: Type.Optional(Type.String({ format: 'uuid', 'x-message': 'must be a UUID' })),
    identity: Type.Optional(Type.Literal('runtime-email-alpha')),
  },
  example: { network_id: 'cf1:network', identity: 'runtime-email-alpha' },

  check({ network_id, tunnel_id, identity }) {
    if (network_id !== undefined && tunnel_id !== undefined)
      return [{ pointer: '/tunnel_id', message: 'does not go with network_id' }]
    if (network_id === undefined && tunnel_id === undefined)
      return [{ pointer: '/network_id', message: 'is required without tunnel_id' }]
    if (identity !== undefined && network_id === undefined)
      return [{ pointer: '/identity', message: 'needs the network_id cf1:network' }]
    return []
  },
})
