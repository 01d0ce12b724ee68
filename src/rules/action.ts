import type { Static, TObject } from 'typebox'
import type { Issue } from '../core/errors.js'
import { issuesOf } from '../core/schema.js'
import type { PhaseName } from './phases.js'
import type { ActionContext, Effect, RulePlace } from './types.js'

/** An expression inside `action_parameters`, and its result type. */
export interface ExpressionUse {
  readonly pointer: string
  readonly text: string
  readonly gives: ExpressionType
}

/** `filter` returns a Bool; `value` a text or number; `array` a list of texts. */
export type ExpressionType = 'filter' | 'value' | 'array'

type Parameters = Readonly<Record<string, unknown>>

/** An action of rules. */
export interface Action {
  readonly name: string
  readonly summary: string
  /** Phases in which rules of rulesets of every kind may name it. */
  readonly phases: readonly PhaseName[]
  /** Further phases in which rules of managed rulesets and overrides of execute rules may name it. */
  readonly managedPhases: readonly PhaseName[]
  readonly params: TObject
  /** `action_parameters` may be left out. */
  readonly optional: boolean
  /** Valid `action_parameters`, with a phase each, for the manual and for tests. */
  readonly examples: readonly Example[]
  /** Returns the issues of `action_parameters`. Pointers are relative to the parameters. */
  validate(params: unknown, place: RulePlace): readonly Issue[]
  /** Returns the expressions in valid `action_parameters`. Pointers are relative to the parameters. */
  expressions(params: Parameters): readonly ExpressionUse[]
  /** Returns the stored form of valid `action_parameters`, with the member names of the manual. */
  stored(params: Parameters): Parameters
  /**
   * Returns the members of valid `action_parameters` that have no effect here. Pointers are relative to the parameters.
   */
  inert(params: Parameters): readonly string[]
  /**
   * Creates the effect of a rule with these valid parameters, once, when it is loaded. Throws if an expression is
   * broken.
   */
  prepare(params: Parameters, context: ActionContext): Effect
}

export interface Example {
  readonly phase: PhaseName
  readonly params: Parameters
}

export interface ActionSpec<P extends TObject> {
  readonly name: string
  readonly summary: string
  readonly phases: readonly PhaseName[]
  readonly managedPhases?: readonly PhaseName[]
  readonly params: P
  readonly optional?: boolean
  readonly examples: readonly Example[]
  /**
   * Checks that the schema cannot express, such as members that exclude or need each other, and limits that depend on
   * the place.
   */
  readonly check?: (params: Static<P>, place: RulePlace) => readonly Issue[]
  readonly expressions?: (params: Static<P>) => readonly ExpressionUse[]
  readonly stored?: (params: Static<P>) => Parameters
  readonly inert?: (params: Static<P>) => readonly string[]
  readonly prepare: (params: Static<P>, context: ActionContext) => Effect
}

/** Describes an action. */
export function action<P extends TObject>(spec: ActionSpec<P>): Action {
  const { check, expressions, stored, inert, prepare, ...rest } = spec
  const shape = issuesOf(spec.params)
  return {
    managedPhases: [],
    optional: false,
    ...rest,
    validate(params, place) {
      const issues = shape(params)
      // Cross checks read the members of `params`, whose types must be valid.
      return issues.length > 0 || !check ? issues : check(params as Static<P>, place)
    },
    expressions: (params) => expressions?.(params as Static<P>) ?? [],
    stored: (params) => stored?.(params as Static<P>) ?? params,
    inert: (params) => inert?.(params as Static<P>) ?? [],
    prepare: (params, context) => prepare(params as Static<P>, context),
  }
}
