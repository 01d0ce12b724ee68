import { Type } from 'typebox'
import type { Issue } from '../../core/errors.js'
import type { ListNamed } from '../../core/model/list.js'
import { pointerToken } from '../../core/schema.js'
import { ENTRY_KIND, phaseNamed, PHASES, type Level } from '../../rules/phases.js'
import { NO_SUCH_RULESET } from '../../rules/rulesets/execute-target.js'
import { rulesIssuesNow } from '../../rules/rulesets/validate.js'
import { nearest } from '../../core/nearest.js'

/** Validated in code with the rules of the API, which have more detailed messages. */
const rules = (description: string, example: object) =>
  Type.Record(Type.String(), Type.Array(Type.Unknown()), { default: {}, description, examples: [example] })

const OWNED =
  'Rules by phase, as the API takes them. A phase that is named here belongs to this file: the API shows its rules and ' +
  'cannot change them. An empty list: no rules.'

/** `zones[].rules`. */
export const ZoneRulesOfFile = rules(OWNED, {
  http_request_firewall_custom: [{ expression: 'http.request.uri.path eq "/private"', action: 'block' }],
})

/** `accounts[].rules`. */
export const AccountRulesOfFile = rules(`${OWNED} They run for all zones of the account, before those of the zone.`, {
  http_request_firewall_custom: [{ expression: 'ip.src in {192.0.2.0/24}', action: 'block' }],
})

/** Rules of a zone or account of the file, by phase. */
export type RulesOfFile = Readonly<Record<string, readonly unknown[]>>

export interface RulesOfFileChecks {
  /** The lists of the file. Other lists can be lists of the API, which the file does not know. */
  readonly lists: readonly { readonly name: string; readonly kind: ReturnType<ListNamed> }[]
  /** Maximum number of rules of a phase. */
  readonly most: number
}

/** Returns the issues of rules in the file. Rulesets and lists of the API are not known here. */
export function rulesOfFileIssues(
  { rules }: { readonly rules: RulesOfFile },
  level: Level,
  pointer: string,
  { lists, most }: RulesOfFileChecks,
): Issue[] {
  const kinds = new Map(lists.map(({ name, kind }) => [name, kind]))
  const list: ListNamed = (name) => (name.includes('.') ? undefined : (kinds.get(name) ?? 'unknown'))
  return Object.entries(rules).flatMap(([name, inputs]) => {
    const at = `${pointer}/rules/${pointerToken(name)}`
    const phase = phaseNamed(name)
    if (!phase) return [{ pointer: at, message: `is not a phase${meant(name)}` }]
    if (!phase.levels.includes(level)) return [{ pointer: at, message: `has no rulesets of ${level}s` }]
    if (inputs.length > most) return [{ pointer: at, message: `has ${inputs.length} rules; ${most} are allowed` }]
    const context = { phase, kind: ENTRY_KIND[level], level, target: () => undefined, list }
    return rulesIssuesNow(inputs, context)
      .filter(({ message }) => message !== NO_SUCH_RULESET)
      .map((issue) => ({ ...issue, pointer: at + issue.pointer.replace(/^\/rules/, '') }))
  })
}

function meant(name: string): string {
  const close = nearest(
    name,
    PHASES.map((phase) => phase.name),
  )
  return close === undefined ? '' : `, did you mean ${close}`
}
