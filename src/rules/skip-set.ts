import type { Level } from './phases.js'

/** `action_parameters` of a skip rule. */
export interface SkipParams {
  readonly phase?: 'current'
  readonly phases?: readonly string[]
  readonly products?: readonly string[]
  readonly rules?: Readonly<Record<string, readonly string[]>>
  readonly ruleset?: 'current'
  readonly rulesets?: readonly string[]
}

/** Former products that are implemented by phases here. */
const PRODUCT_PHASES: Readonly<Record<string, string>> = {
  waf: 'http_request_firewall_managed',
  rateLimit: 'http_ratelimit',
}

/**
 * Phases, rulesets and rules to skip for the rest of one request. Rules of an account skip account rules, and rules of
 * a zone skip zone rules. Only whole phases are skipped on both levels if the account skips them.
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

  /** Returns whether a phase (by its name) or a ruleset (by its id) is skipped. */
  has(level: Level, name: string): boolean {
    return this.#names.has(`${level} ${name}`)
  }

  hasRule(level: Level, rulesetId: string, ruleId: string): boolean {
    return this.#names.has(`${level} ${rulesetId} ${ruleId}`)
  }
}
