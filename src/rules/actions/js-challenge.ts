import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { CHALLENGING_PHASES } from './phase-groups.js'

export const jsChallenge = action({
  name: 'js_challenge',
  summary: 'Lets the client through once its browser has solved a challenge by itself.',
  phases: ['http_request_firewall_custom', 'http_ratelimit'],
  managedPhases: CHALLENGING_PHASES,
  optional: true,
  params: Type.Object({}, strict),
  prepare:
    (_params, { parts }) =>
    (run) =>
      parts.challenge('js_challenge', run) ?? false,
  examples: [{ phase: 'http_request_firewall_custom', params: {} }],
})
