import type { Endpoint } from './endpoint.js'
import { entryPoints } from './rulesets/entry-points.js'
import { rules } from './rulesets/rules.js'
import { RulesCheck } from './rulesets/rules-check.js'
import { Shelf } from './rulesets/shelf.js'
import { versions } from './rulesets/versions.js'
import { wholes } from './rulesets/wholes.js'
import type { ControlDeps } from './state.js'

/** Rulesets of accounts and zones, their versions, their rules, and the entry points of phases. */
export function rulesets(deps: ControlDeps): Endpoint[] {
  const shelf = new Shelf(deps)
  const check = new RulesCheck(deps, shelf)
  return [...wholes(shelf, check), ...entryPoints(shelf, check), ...rules(shelf, check), ...versions(shelf)]
}
