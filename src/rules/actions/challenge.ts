import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { CHALLENGING_PHASES } from './phase-groups.js'

export const challenge = action({
  name: 'challenge',
  summary: 'Lets the client through once it has solved an interactive challenge.',
  phases: ['http_request_firewall_custom', 'http_ratelimit'],
  managedPhases: CHALLENGING_PHASES,
  optional: true,
  params: Type.Object({}, strict),
  prepare:
    (_params, { parts }) =>
    (run) =>
      parts.challenge('challenge', run) ?? false,
  examples: [{ phase: 'http_ratelimit', params: {} }],
})
