import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { MANAGED_REQUEST_PHASES } from './phase-groups.js'
import { Whole } from './shared.js'

export const score = action({
  name: 'score',
  summary: 'Adds to the total that later rules of the request may read, and continues.',
  optional: true,
  phases: ['http_request_firewall_custom', 'http_request_firewall_managed', 'http_response_firewall_managed'],
  managedPhases: MANAGED_REQUEST_PHASES,
  params: Type.Object(
    { increment: Type.Optional(Whole(-(2 ** 31), 'The number to add. May be negative. Default: 0.')) },
    strict,
  ),
  inert: ({ increment }) => (increment === undefined ? [''] : []),
  prepare:
    ({ increment = 0 }) =>
    (run) =>
      run.addScore(increment),
  examples: [{ phase: 'http_request_firewall_managed', params: { increment: -5 } }],
})
