import { Type } from 'typebox'
import { RULESETS } from '../../src/core/model/ruleset.js'
import { ACCESS } from '../http/permissions.js'
import { area } from '../http/area.js'
import { whole } from '../http/paging.js'
import type { OverviewDeps } from './services.js'

const count = (description: string) => Type.Integer({ minimum: 0, description })

const rows = area<OverviewDeps>({ scopes: ['account', 'zone'], access: ACCESS.rulesets })

/** How often rules have acted. */
export const ruleCounts = rows.endpoints([
  rows.get('/edged/rules/counts', {
    summary: 'List the rules of an account or zone that have matched since the start of the daemon, with their counts',
    result: Type.Array(
      Type.Object({
        ruleset_id: Type.String(),
        rule_id: Type.String(),
        matches: count('Requests that the rule acted on, on this machine.'),
        failures: count('Failures to load, evaluate or execute the rule.'),
      }),
    ),
    async handle({ store, fileRules, overview }, { scope }) {
      const rulesets = [...store.list(RULESETS, scope), ...(fileRules?.().of(scope) ?? [])]
      const own = new Set(rulesets.map(({ id }) => id))
      const counts = await overview().traffic.rules()
      return whole(
        counts
          .filter(({ ruleset }) => own.has(ruleset))
          .map(({ ruleset, rule, matches, failures }) => ({ ruleset_id: ruleset, rule_id: rule, matches, failures })),
      )
    },
  }),
])
