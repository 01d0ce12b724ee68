import type { Rule } from '../../core/model/ruleset.js'
import type { Context, Evaluate, Lists } from '../../expr/index.js'
import type { Place } from '../action.js'
import type { RawHeaders } from '../answer.js'
import type { Reason } from '../error-page.js'
import type { Run } from './run.js'

/** How a rule ends a request. */
export type Ending =
  /** An answer of the rule's own. The length is added. */
  | { readonly kind: 'answer'; readonly status: number; readonly headers: RawHeaders; readonly body: Buffer }
  /** The page for a status, or for a decision of a rule, in the form that the client asks for. */
  | {
      readonly kind: 'page'
      readonly status: number
      readonly reason?: Reason
      readonly retryAfter?: number | undefined
      readonly headers?: Readonly<Record<string, string>>
    }
  /** The connection is closed without an answer. */
  | { readonly kind: 'close' }

/**
 * What a rule does to a request that matches it. Gives how the request ends, undefined where it goes on, false where the
 * rule does not match after all. What it changes is given to {@link Run.change}: it shows in the next phase. Throws where
 * it cannot be done; then the rule does not match.
 */
export type Effect = (run: Run) => Ending | undefined | false

/** A condition beside a rule's expression: a rate limit, a look for exposed credentials. */
export interface Condition {
  /** It is asked also where the expression does not match. */
  readonly always: boolean
  /** It reads the body of the request. */
  readonly readsBody?: boolean
  /** Whether the rule acts on the request. Where `matched` is false, the answer is not looked at. */
  holds(run: Run, matched: boolean): boolean
}

/** Follows a request that goes on past its rules. */
export interface Follower {
  /** The request goes to the origin. */
  toOrigin(): void
  /**
   * The answer is there; `context` has its fields. `origin`: the header fields as the origin sent them, undefined where
   * the request did not get there. Called once.
   */
  answered(context: Context, origin: RawHeaders | undefined): void
  /** A rule ended the request. `answered` is called after it. */
  endedBy(ruleId: string): void
}

/** Where a list redirects to. */
export interface ListedRedirect {
  /** The `location`: path suffix and query are in it where the item keeps them. */
  readonly location: string
  readonly status: number
}

export const CHALLENGES = ['challenge', 'js_challenge', 'managed_challenge'] as const
export type ChallengeKind = (typeof CHALLENGES)[number]

/** What the rules need from the rest of edged. */
export interface RuleParts {
  /** The lists of an account, as expressions name them. */
  lists(accountId: string): Lists
  /** The redirect for a URL in a redirect list of an account, by its name without `$`. */
  redirect(accountId: string, list: string, url: string): ListedRedirect | undefined
  /** Undefined: the visitor has passed, the rule does not act. */
  challenge(kind: ChallengeKind, run: Run): Ending | undefined
  /** The condition that a rule has beside its expression; undefined where it has none. Throws where it is broken. */
  condition(rule: Rule, tools: Tools): Condition | undefined
}

/** What an action has at hand when a rule is loaded. */
export interface Tools {
  readonly place: Place
  readonly accountId: string
  readonly lists: Lists
  readonly parts: RuleParts
  /** Compiles a value expression of the rule. Throws an ExprError. */
  readonly value: (text: string) => Evaluate
}
