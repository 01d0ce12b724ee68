import { Type } from 'typebox'
import { bindingKind, Ref } from './binding-kind.js'

/** A queue to send to. */
export const queue = bindingKind({
  type: 'queue',
  description: 'A queue to send to.',
  fields: {
    queue_name: Ref('Name of the queue.'),
    delivery_delay: Type.Optional(Type.Number({ minimum: 0, description: 'Seconds.' })),
  },
  example: { queue_name: 'jobs' },
})
