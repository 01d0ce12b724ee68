import { digestOfJson } from '../../src/core/digest.js'
import type { Pause } from '../../src/core/schedule/event-loop-yield.js'
import { frozenJson } from '../../src/core/json/frozen-json.js'
import type { Rule, Ruleset, RulesetVersion, StoredRuleset } from '../../src/core/model/ruleset.js'

/** Rules that are serialized between two pauses. */
const SLICE_RULES = 50

/** A value as the store keeps it, and its JSON. */
export interface Serialized<T> {
  readonly value: T
  readonly json: string
}

/** Serializes a ruleset in slices: as one record, 1,000 rules take a turn of the event loop of 10 ms and more. */
export async function serialized({ rules, ...rest }: Ruleset, pause: Pause): Promise<Serialized<Ruleset>> {
  const texts: string[] = []
  const kept: Rule[] = []
  for (let from = 0; from < rules.length; from += SLICE_RULES) {
    await pause()
    for (const rule of rules.slice(from, from + SLICE_RULES)) {
      const text = JSON.stringify(rule)
      texts.push(text)
      // Rules of the store are frozen already.
      kept.push(Object.isFrozen(rule) ? rule : frozenJson(JSON.parse(text) as Rule))
    }
  }
  await pause()
  return {
    value: Object.freeze({ ...rest, rules: Object.freeze(kept) }),
    json: `${JSON.stringify(rest).slice(0, -1)},"rules":[${texts.join(',')}]}`,
  }
}

/** Returns the record of a ruleset with its older versions. */
export function withOlder(
  { value: ruleset, json }: Serialized<Ruleset>,
  versions: readonly RulesetVersion[],
): Serialized<StoredRuleset> {
  const text = JSON.stringify(versions)
  const older = frozenJson(JSON.parse(text) as RulesetVersion[])
  return { value: Object.freeze({ ruleset, older }), json: `{"ruleset":${json},"older":${text}}` }
}

/** Returns the digests of two versions for an audit entry. Each takes milliseconds for 1,000 rules. */
export async function digests(
  before: Serialized<Ruleset> | undefined,
  after: Serialized<Ruleset> | undefined,
  pause: Pause,
): Promise<{ before: string | null; after: string | null }> {
  const first = before ? digestOfJson(before.json) : null
  await pause()
  return { before: first, after: after ? digestOfJson(after.json) : null }
}
