import { letHeapGrow } from '../../core/memory/heap-size.js'
import type { Rule, Ruleset } from '../../core/model/ruleset.js'
import { finished, type Steps } from '../../core/schedule/steps.js'
import { RuleIndex, unicodeTables } from '../../expr/index.js'
import type { PreparedRule, PreparedRuleset } from '../types.js'
import { RuleCompiler, type CompileOptions } from './rule-compiler.js'

export interface PrepareOptions extends CompileOptions {
  /** The previous version, whose compiled rules are reused. */
  readonly previous?: PreparedRuleset | undefined
}

/** Compiling this many rules creates so much garbage that a small heap doubles the time. */
const MANY_RULES = 200

/**
 * Compiles a ruleset. Rules that `previous` contains are reused. A rule that cannot be compiled never matches, which is
 * logged and counted. Data of an older version must not prevent other rules from running.
 */
export function prepareRuleset(ruleset: Ruleset, options: PrepareOptions): PreparedRuleset {
  return finished(preparation(ruleset, options))
}

/**
 * {@link prepareRuleset} in steps of one rule that has to be compiled, of one table that the rule needs first, or of a part of
 * the index. Other work can be done between the steps.
 */
export function* preparation(ruleset: Ruleset, options: PrepareOptions): Steps<PreparedRuleset> {
  const { id, name, description, version, kind, rules } = ruleset
  if (rules.length >= MANY_RULES) letHeapGrow()
  const { level, accountId, parts, counters, log } = options
  const compiler = new RuleCompiler(ruleset, { level, accountId, parts, counters, log })
  const known = rulesById(options.previous)
  const prepared: PreparedRule[] = []
  for (const rule of rules) {
    const same = known.get(rule.id)
    if (isReady(same, rule)) {
      prepared.push(same)
      continue
    }
    yield* unicodeTables(JSON.stringify(rule))
    prepared.push(compiler.compile(rule))
    yield undefined
  }
  const indexed = prepared.map((rule) => rule.indexed)
  const index = yield* RuleIndex.inSteps(indexed, compiler.lists)
  return {
    id,
    name,
    description,
    version,
    kind,
    phase: compiler.phase.name,
    level,
    rules: prepared,
    index,
    readsBody: prepared.some(({ readsBody }) => readsBody),
    readsScore: prepared.some(({ readsScore }) => readsScore),
    effect: (action, rule) => compiler.effect(action, rule),
  }
}

/**
 * Returns the number of steps of {@link preparation}, which are rules that are not in the previous version, and tables.
 * Counts to `max` and not much further.
 */
export function stepsToPrepare({ rules }: Ruleset, previous: PreparedRuleset | undefined, max: number): number {
  const known = rulesById(previous)
  let steps = 0
  for (const rule of rules) {
    if (steps >= max) break
    if (isReady(known.get(rule.id), rule)) continue
    steps += unicodeTables(JSON.stringify(rule)).next().done === true ? 1 : SLOW_STEPS
  }
  return steps
}

/** A table takes as long as this many rules. */
const SLOW_STEPS = 100

function rulesById(prepared: PreparedRuleset | undefined): ReadonlyMap<string, PreparedRule> {
  return new Map(prepared?.rules.map((rule) => [rule.rule.id, rule]))
}

/** Returns whether a compiled rule can be used for `rule`. */
const isReady = (prepared: PreparedRule | undefined, rule: Rule): prepared is PreparedRule =>
  prepared?.loaded === true && isSame(prepared.rule, rule)

/**
 * Returns whether a rule has not changed. It is not identical after a read from the store. A comparison of all members
 * would take longer than everything else. Each change sets the time and increases the version.
 */
const isSame = (old: Rule, rule: Rule): boolean =>
  old === rule ||
  (old.version === rule.version &&
    old.last_updated === rule.last_updated &&
    old.expression === rule.expression &&
    old.action === rule.action &&
    old.enabled === rule.enabled)
