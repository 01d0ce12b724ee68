import type { PhaseName } from '../../../../src/rules/phases.js'

/** What is wrong, the phase, the members of the rule besides its expression, where the errors are. */
export type BadRule = readonly [what: string, phase: PhaseName, rule: object, ...pointers: string[]]

type Params = readonly [what: string, params: unknown, ...pointers: string[]]

/** An identifier of a ruleset or rule. */
export const HEX = '4814384a9e5d4991b9815dcfc25d2f1f'

/** Rules of one action in one phase whose parameters are bad; pointers are relative to the parameters. */
export const bad = (phase: PhaseName, action: string, ...cases: Params[]): BadRule[] =>
  cases.map(([what, action_parameters, ...pointers]) => [
    `${action}: ${what}`,
    phase,
    { action, ...(action_parameters !== undefined && { action_parameters }) },
    ...pointers.map((pointer) => `/action_parameters${pointer}`),
  ])
