import { ruleIssues } from '../../../rules/rulesets/validate.js'
import { phaseNamed } from '../../../rules/phases.js'
import type { ListKind } from '../../../core/model/list.js'
import { NEVER, type Condition } from './condition.js'
import { isNetwork } from './addresses.js'
import type { ImportedRule, Target } from './model.js'
import type { Place, Report } from './report.js'

/** A rule whose condition is not yet a text. */
export interface NewRule extends Omit<ImportedRule, 'expression' | 'description'> {
  readonly when: Condition
}

/** The longest description that a rule can have. */
const MAX_DESCRIPTION = 500

/** The rules of one zone by phase. Each rule is validated when it is added. */
export class RuleSheet {
  readonly #phases = new Map<string, ImportedRule[]>()
  readonly #report: Report
  /** Addresses with ports that rules name as origins. */
  readonly named: string[] = []

  constructor(report: Report) {
    this.#report = report
  }

  /** Adds a rule for a part of the original. Returns false, after a line in the report, if the rule is not valid. */
  add(phase: string, { when, ...rule }: NewRule, place: Place, part: string): boolean {
    if (when === NEVER) return true
    const described = { description: `${place.file}:${place.line} ${part}`.slice(0, MAX_DESCRIPTION) }
    const found: ImportedRule = { expression: when.text, ...rule, ...described }
    const issue = ruleIssue(phase, found)
    if (issue !== undefined) {
      this.#report.add(place, part, issue)
      return false
    }
    const rules = this.#phases.get(phase) ?? []
    rules.push(found)
    this.#phases.set(phase, rules)
    return true
  }

  /** Adds a rule that sends requests to another origin. Returns false if a rule cannot name the origin. */
  route(when: Condition, { origin }: Target, place: Place, part: string): boolean {
    const url = origin === undefined || !URL.canParse(origin) ? undefined : new URL(origin)
    if (url?.protocol !== 'http:') return false
    const port = Number(url.port || 80)
    this.add(
      'http_request_origin',
      { when, action: 'route', action_parameters: { origin: { host: url.hostname, port } } },
      place,
      part,
    )
    // Hosts that rules name are public, or listed in `egress.allow_cidrs`.
    if (url.hostname === 'localhost') this.named.push(`127.0.0.1/32:${port}`, `[::1]/128:${port}`)
    else if (isNetwork(url.hostname)) this.named.push(`${url.hostname}/32:${port}`)
    return true
  }

  /** Returns whether a phase has a rule. */
  has(phase: string): boolean {
    return this.#phases.has(phase)
  }

  /** The rules by phase. Undefined if there are none. */
  get byPhase(): Readonly<Record<string, readonly ImportedRule[]>> | undefined {
    return this.#phases.size === 0 ? undefined : Object.fromEntries(this.#phases)
  }
}

/** Returns why a rule is not valid in a phase of a zone, in one line. Undefined if it is valid. */
export function ruleIssue(
  phase: string,
  rule: object,
  lists: ReadonlyMap<string, ListKind> = new Map(),
): string | undefined {
  const known = phaseNamed(phase)
  if (known === undefined) return `the phase ${phase} does not exist in edged`
  const context = { phase: known, kind: 'zone', level: 'zone', target: () => undefined } as const
  const [issue] = ruleIssues(rule, { ...context, list: (name) => lists.get(name) })
  return issue && `edged has no such rule: ${issue.pointer} ${issue.message.split('\n', 1)[0]}`
}
