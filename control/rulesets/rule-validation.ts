import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import { HOSTNAME } from '../../src/core/model/hostname.js'
import type { Ruleset } from '../../src/core/model/ruleset.js'
import { ENTRY_KIND, phaseNamed } from '../../src/rules/phases.js'
import type { RuleContext } from '../../src/rules/types.js'
import type { RuleInput } from '../../src/rules/rulesets/rule-input.js'
import { ruleIssues, rulesIssues, unplacedRulesIssues } from '../../src/rules/rulesets/validate.js'
import type { Actor } from '../resources/audit.js'
import { configIndex } from '../http/auth/config-index.js'
import { ApiError } from '../http/errors.js'
import { listNamed } from '../lists/list-by-name.js'
import type { ControlDeps } from '../http/context.js'
import { levelOf, type RulesetRepository } from './ruleset-repository.js'

type RuleScope = Pick<Ruleset, 'kind' | 'phase'>

/** Validates rules for a ruleset of that kind and phase: shape, number and features of the zone's plan. */
export class RulesCheck {
  readonly #deps: ControlDeps
  readonly #repository: RulesetRepository

  constructor(deps: ControlDeps, repository: RulesetRepository) {
    this.#deps = deps
    this.#repository = repository
  }

  /** Returns the rules of a body. Throws with pointers below `/rules`, together with `besides`: issues of other members. */
  async rules(
    actor: Actor,
    home: RuleScope,
    rules: readonly unknown[] | undefined,
    besides: readonly Issue[] = [],
  ): Promise<readonly RuleInput[] | undefined> {
    if (rules) this.room(rules.length, '/rules')
    assertNoIssues([...besides, ...(await this.issues(actor, home, rules))])
    if (!rules) return undefined
    const checked = rules as readonly RuleInput[]
    for (const [index, rule] of checked.entries()) this.#refuseUnlessEntitled(actor, rule, `/rules/${index}`)
    return checked
  }

  /** Returns the issues of rules, also for a ruleset whose kind or phase is not valid. */
  async issues(
    actor: Actor,
    { kind, phase }: Partial<RuleScope>,
    rules: readonly unknown[] | undefined,
  ): Promise<readonly Issue[]> {
    if (!rules) return []
    const { pause } = this.#repository
    if (phase === undefined)
      return await unplacedRulesIssues(rules, { list: listNamed(this.#deps, actor.accountId) }, pause)
    const home = { kind: kind ?? ENTRY_KIND[levelOf(actor.scope)], phase }
    return await rulesIssues(rules, this.#context(actor, home), pause)
  }

  /** Returns one rule; pointers are relative to it. */
  rule(actor: Actor, home: RuleScope, rule: unknown): RuleInput {
    const issues = ruleIssues(rule, this.#context(actor, home))
    assertNoIssues(issues)
    this.#refuseUnlessEntitled(actor, rule as RuleInput, '')
    return rule as RuleInput
  }

  /** Throws `tooManyRules` if `count` exceeds the limit. */
  room(count: number, pointer?: string): void {
    const max = this.#deps.config().control.quotas.rules_per_ruleset
    if (count > max)
      throw new ApiError('tooManyRules', pointer, `the ruleset would have ${count} rules; ${max} are allowed`)
  }

  #context({ scope, accountId }: Actor, { kind, phase: name }: RuleScope): RuleContext {
    const phase = phaseNamed(name)
    if (!phase) throw new Error(`a ruleset of the unknown phase ${name} is stored`)
    const target = (id: string) => this.#repository.target(scope, accountId, id)?.value.ruleset
    return { phase, kind, level: levelOf(scope), target, list: listNamed(this.#deps, accountId) }
  }

  #refuseUnlessEntitled({ scope }: Actor, { action, action_parameters: params }: RuleInput, at: string): void {
    if (action !== 'set_config' || params?.['content_converter'] === undefined) return
    const plan = configIndex(this.#deps.config()).zones.get(scope.id)?.plan
    // Customers' hostnames of a free zone can be converted; the action leaves its other hosts as they are.
    if (plan === 'free' && this.#deps.store.count(HOSTNAME, scope) === 0)
      throw new ApiError(
        'notEntitled',
        `${at}/action_parameters/content_converter`,
        `content_converter is not available on the ${plan} plan of a zone without custom hostnames`,
      )
  }
}
