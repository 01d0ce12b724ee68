import { randomBytes } from 'node:crypto'
import { silentLog, type Log } from '../../src/core/log.js'
import { openMetrics, type Metrics } from '../../src/core/metrics/metrics.js'
import type { Rule, Ruleset, RulesetKind } from '../../src/core/model/ruleset.js'
import { phaseNamed, type Level, type PhaseName } from '../../src/rules/phases.js'
import { defaultRuleDeps } from '../../src/rules/engine/default-deps.js'
import { prepareRuleset } from '../../src/rules/engine/prepared.js'
import { MatchCounters } from '../../src/rules/match-counters.js'
import type { PreparedRuleset, RuleDeps } from '../../src/rules/types.js'
import { ZoneRules } from '../../src/rules/engine/zone-rules.js'
import type { Zone } from '../../src/edge/exchange/zones.js'
import { testZone } from './proxy.js'

/** A rule as tests write it: everything but its action has a default. */
export type TestRule = Partial<Rule> & { readonly action: string }

/** A ruleset as tests write it. */
export interface TestRuleset {
  readonly phase: PhaseName
  readonly kind?: RulesetKind
  readonly level?: Level
  readonly id?: string
  readonly rules: readonly TestRule[]
}

export const newHexId = (): string => randomBytes(16).toString('hex')

const AT = '2026-01-01T00:00:00.000000Z'

export function rulesetOf({ phase, kind, level = 'zone', id = newHexId(), rules }: TestRuleset): Ruleset {
  return {
    id,
    name: 'test',
    description: '',
    kind: kind ?? (level === 'zone' ? 'zone' : 'root'),
    phase,
    version: '1',
    last_updated: AT,
    rules: rules.map((rule) => {
      const ruleId = rule.id ?? newHexId()
      return {
        version: '1',
        last_updated: AT,
        ref: ruleId,
        expression: 'true',
        description: '',
        enabled: true,
        ...rule,
        id: ruleId,
      }
    }),
  }
}

export interface RulesOptions {
  readonly parts?: Partial<RuleDeps>
  readonly log?: Log
  readonly metrics?: Metrics
}

/** The rules of a zone that has these rulesets, as the proxy runs them. */
export function rulesOf(
  rulesets: readonly TestRuleset[],
  { parts, log = silentLog, metrics = openMetrics({ process: false }) }: RulesOptions = {},
): ZoneRules {
  const counters = new MatchCounters(metrics)
  const prepared = rulesets.map((given): PreparedRuleset => {
    if (!phaseNamed(given.phase)) throw new Error(`no phase ${given.phase}`)
    const { level = 'zone' } = given
    return prepareRuleset(rulesetOf(given), {
      level,
      accountId: 'account',
      parts: { ...defaultRuleDeps, ...parts },
      counters,
      log,
    })
  })
  const rules = ZoneRules.of(
    {
      entry: (level, phase) =>
        prepared.find(
          (ruleset) => ruleset.level === level && ruleset.phase === phase && /root|zone/.test(ruleset.kind),
        ),
      target: (_level, id) => prepared.find((ruleset) => ruleset.id === id),
    },
    log,
  )
  if (!rules) throw new Error('there are no rules')
  return rules
}

/** A zone with rules. */
export function ruledZone(
  origin: string,
  rulesets: readonly TestRuleset[],
  { members = '', ...options }: RulesOptions & { members?: string } = {},
): Zone {
  return { ...testZone(origin, members), rules: rulesOf(rulesets, options) }
}
