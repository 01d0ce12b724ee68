import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { MANAGED_REQUEST_PHASES } from './phase-groups.js'

export const forceConnectionClose = action({
  name: 'force_connection_close',
  summary: 'Closes the connection without a response.',
  phases: [
    'http_request_firewall_custom',
    'http_request_firewall_managed',
    'http_response_firewall_managed',
    'http_request_sbfm',
  ],
  managedPhases: MANAGED_REQUEST_PHASES,
  optional: true,
  params: Type.Object({}, strict),
  prepare: () => () => ({ kind: 'close' }),
  examples: [{ phase: 'http_request_firewall_managed', params: {} }],
})
