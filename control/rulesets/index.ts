import type { Endpoint } from '../http/endpoint.js'
import { expressions } from './expressions.js'
import { entryPoints } from './entry-points.js'
import { rules } from './rules.js'
import { RulesCheck } from './rule-validation.js'
import { RulesetRepository } from './ruleset-repository.js'
import { versions } from './versions.js'
import { wholes } from './rulesets.js'
import type { ControlDeps } from '../http/context.js'

/** Rulesets of accounts and zones, their versions, their rules, and the entry points of phases. */
export function rulesets(deps: ControlDeps): Endpoint[] {
  const repository = new RulesetRepository(deps)
  const check = new RulesCheck(deps, repository)
  return [
    ...wholes(repository, check),
    ...entryPoints(repository, check),
    ...rules(repository, check),
    ...versions(repository),
    ...expressions(),
  ]
}
