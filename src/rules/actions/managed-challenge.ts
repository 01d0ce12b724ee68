import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { CHALLENGING_PHASES } from './phase-groups.js'

export const managedChallenge = action({
  name: 'managed_challenge',
  summary: 'Lets the client through once it has solved the challenge that the edge picks.',
  phases: ['http_request_firewall_custom', 'http_ratelimit', 'http_request_sbfm'],
  managedPhases: CHALLENGING_PHASES,
  optional: true,
  params: Type.Object({}, strict),
  prepare:
    (_params, { parts }) =>
    (run) =>
      parts.challenge('managed_challenge', run) ?? false,
  examples: [{ phase: 'http_request_firewall_custom', params: {} }],
})
