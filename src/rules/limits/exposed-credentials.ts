import type { Rule } from '../../core/model/ruleset.js'
import { compileValue, parseValue, type Context, type Evaluate, type Lists, type Uses } from '../../expr/index.js'
import type { PhaseName } from '../phases.js'

type Check = NonNullable<Rule['exposed_credential_check']>

/**
 * Check for credentials that were exposed elsewhere. edged has no collection of such credentials, so no pair is known
 * as exposed. A request with a name and a password is logged, without either, and the rule does not act on it.
 */
export class CredentialCheck {
  readonly uses: readonly Uses[]
  readonly #username: Evaluate
  readonly #password: Evaluate

  /** Throws an ExprError if an expression does not compile. */
  constructor(
    { username_expression, password_expression }: Check,
    { phase, lists }: { phase: PhaseName; lists: Lists },
  ) {
    const username = parseValue(username_expression, { phase, member: 'username_expression' })
    const password = parseValue(password_expression, { phase, member: 'password_expression' })
    this.uses = [username.uses, password.uses]
    this.#username = compileValue(username, lists)
    this.#password = compileValue(password, lists)
  }

  /** Returns whether a request contains both. */
  found(context: Context): boolean {
    return present(this.#username(context)) && present(this.#password(context))
  }
}

const present = (value: unknown): boolean => value !== undefined && value !== ''
