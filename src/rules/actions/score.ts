import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { MANAGED_REQUEST_PHASES } from './phase-groups.js'
import { Whole } from './shared.js'

export const score = action({
  name: 'score',
  summary: 'Adds to the total that later rules of the request may read, and continues.',
  phases: ['http_request_firewall_custom', 'http_request_firewall_managed', 'http_response_firewall_managed'],
  managedPhases: MANAGED_REQUEST_PHASES,
  params: Type.Object({ increment: Whole(-(2 ** 31), 'What is added; may be negative.') }, strict),
  prepare:
    ({ increment }) =>
    (run) =>
      run.addScore(increment),
  examples: [{ phase: 'http_request_firewall_managed', params: { increment: -5 } }],
})
