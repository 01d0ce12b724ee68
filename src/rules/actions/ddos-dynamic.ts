import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'

export const ddosDynamic = action({
  name: 'ddos_dynamic',
  summary: 'Lets the DDoS protection choose the action.',
  phases: ['ddos_l4', 'ddos_l7', 'http_request_firewall_custom', 'http_request_firewall_managed'],
  managedPhases: ['http_ratelimit'],
  optional: true,
  params: Type.Object({}, strict),
  inert: () => [''],
  prepare: () => () => undefined,
  examples: [{ phase: 'ddos_l7', params: {} }],
})
