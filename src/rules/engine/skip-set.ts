import type { Level } from '../phases.js'

/** `action_parameters` of a skip rule. */
export interface SkipParams {
  readonly phase?: 'current'
  readonly phases?: readonly string[]
  readonly products?: readonly string[]
  readonly rules?: Readonly<Record<string, readonly string[]>>
  readonly ruleset?: 'current'
  readonly rulesets?: readonly string[]
}

/** Products of old whose work phases do here. */
const PRODUCT_PHASES: Readonly<Record<string, string>> = {
  waf: 'http_request_firewall_managed',
  rateLimit: 'http_ratelimit',
}

/**
 * What is left out for the rest of one request. Rules of an account leave out what the account runs, rules of a zone what
 * the zone runs; only whole phases are left out on both levels when the account says so.
 */
export class SkipSet {
  readonly #names = new Set<string>()

  add(level: Level, { phases = [], products = [], rules = {}, rulesets = [] }: SkipParams): void {
    const names = this.#names
    const skipped = [...phases, ...products.flatMap((product) => PRODUCT_PHASES[product] ?? [])]
    for (const phase of skipped) {
      names.add(`zone ${phase}`)
      if (level === 'account') names.add(`account ${phase}`)
    }
    for (const id of rulesets) names.add(`${level} ${id}`)
    for (const [ruleset, ids] of Object.entries(rules)) for (const id of ids) names.add(`${level} ${ruleset} ${id}`)
  }

  /** A phase by its name, a ruleset by its id. */
  has(level: Level, name: string): boolean {
    return this.#names.has(`${level} ${name}`)
  }

  hasRule(level: Level, rulesetId: string, ruleId: string): boolean {
    return this.#names.has(`${level} ${rulesetId} ${ruleId}`)
  }
}
