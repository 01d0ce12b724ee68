import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { MANAGED_REQUEST_PHASES } from './phase-groups.js'

export const log = action({
  name: 'log',
  summary: 'Records the match and continues.',
  phases: [
    'magic_transit_ids_managed',
    'http_request_firewall_custom',
    'http_ratelimit',
    'http_request_firewall_managed',
    'http_request_sbfm',
    'http_response_firewall_managed',
  ],
  managedPhases: MANAGED_REQUEST_PHASES,
  optional: true,
  params: Type.Object({}, strict),
  prepare: () => () => undefined,
  examples: [{ phase: 'http_request_firewall_custom', params: {} }],
})
