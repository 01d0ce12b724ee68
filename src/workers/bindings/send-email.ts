import { Type } from 'typebox'
import { bindingKind, Ref } from './binding-kind.js'

/** A way to send e-mail. */
export const sendEmail = bindingKind({
  type: 'send_email',
  description: 'A way to send e-mail.',
  fields: {
    destination_address: Type.Optional(Ref('The only address to send to.')),
    allowed_destination_addresses: Type.Optional(Type.Array(Ref('An address.'))),
    allowed_sender_addresses: Type.Optional(Type.Array(Ref('An address.'))),
  },
  example: { destination_address: 'ops@example.com' },

  check({ destination_address: one, allowed_destination_addresses: several }) {
    if (one === undefined || several === undefined) return []
    return [{ pointer: '/allowed_destination_addresses', message: 'does not go with destination_address' }]
  },
})
