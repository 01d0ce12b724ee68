import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action, type Action } from '../action.js'
import type { PhaseName } from '../phases.js'
import type { ChallengeKind } from '../types.js'
import { CHALLENGING_PHASES } from './phase-groups.js'

const CUSTOM_PHASES = ['http_request_firewall_custom', 'http_ratelimit'] as const satisfies readonly PhaseName[]

const KINDS: readonly { name: ChallengeKind; summary: string; phases: readonly PhaseName[] }[] = [
  {
    name: 'challenge',
    summary: 'Lets the client through after it has solved an interactive challenge.',
    phases: CUSTOM_PHASES,
  },
  {
    name: 'js_challenge',
    summary: 'Lets the client through after its browser has solved a challenge without the visitor.',
    phases: CUSTOM_PHASES,
  },
  {
    name: 'managed_challenge',
    summary: 'Lets the client through after it has solved a challenge that the edge chooses.',
    phases: [...CUSTOM_PHASES, 'http_request_sbfm'],
  },
]

/** The actions that challenge a client. They differ in name and phases. */
export const CHALLENGES: readonly Action[] = KINDS.map(({ name, summary, phases }) =>
  action({
    name,
    summary,
    phases,
    managedPhases: CHALLENGING_PHASES,
    optional: true,
    params: Type.Object({}, strict),
    prepare(_params, { parts, isScored }) {
      const scored = isScored()
      return (run) => parts.challenge(name, run, scored) ?? false
    },
    examples: [{ phase: 'http_request_firewall_custom', params: {} }],
  }),
)
