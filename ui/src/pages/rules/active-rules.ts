/** A gap at the beginning of the counts that is no longer than this is one of their cells. */
const SLACK_MS = 3_600_000

export interface RuleCount {
  readonly rule_id: string
  readonly matches: number
  readonly failures: number
}

/** Counts of requests by rule, of the history. */
interface Counts {
  readonly groups: readonly { readonly key: string; readonly requests: number }[]
  readonly other: { readonly requests: number }
  readonly coverage: readonly { readonly from: string }[]
}

/** Rules that have acted in the last 7 days. */
export interface ActiveRules {
  readonly ids: ReadonlySet<string>
  /** When the counts begin, if they are shorter. */
  readonly since: string | undefined
  /** The counts have each rule that acted. */
  readonly isWhole: boolean
}

/** The id of a rule in the key of its counts. */
export const ruleOfKey = (key: string): string => key.split(/[,/:]/).at(-1)!

/**
 * Returns the rules that acted since a time. The history counts 100 rules, and all others together. If others acted, each
 * rule with matches since the start of the daemon counts as one of them.
 */
export function activeRules(
  found: Counts,
  counts: readonly Pick<RuleCount, 'rule_id' | 'matches'>[],
  since: number,
): ActiveRules {
  const isWhole = found.other.requests === 0
  const started = isWhole ? [] : counts.filter(({ matches }) => matches > 0).map(({ rule_id: id }) => id)
  const ids = new Set([
    ...found.groups.filter(({ requests }) => requests > 0).map(({ key }) => ruleOfKey(key)),
    ...started,
  ])
  const first = found.coverage[0]?.from
  return { ids, since: first !== undefined && Date.parse(first) > since + SLACK_MS ? first : undefined, isWhole }
}
