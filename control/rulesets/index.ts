import type { Endpoint } from '../http/endpoint.js'
import { expressions } from './expressions.js'
import { entryPoints } from './entry-points.js'
import { rules } from './rules.js'
import { RulesCheck } from './rule-validation.js'
import { RulesetRepository } from './ruleset-repository.js'
import { versions } from './versions.js'
import { wholes } from './rulesets.js'
import { errorAssets } from './error-assets.js'
import { errorPages } from './error-pages.js'
import { StoredPages, type StoredPagesDeps } from './stored-pages.js'

/** Rulesets of accounts and zones, their versions, their rules, the entry points of phases, and the pages that replace errors. */
export function rulesets(deps: StoredPagesDeps): Endpoint[] {
  const repository = new RulesetRepository(deps)
  const pages = new StoredPages(deps)
  const check = new RulesCheck(deps, repository)
  return [
    ...wholes(repository, check),
    ...entryPoints(repository, check),
    ...rules(repository, check),
    ...versions(repository),
    ...expressions(deps),
    ...errorAssets(pages),
    ...errorPages(pages),
  ]
}
