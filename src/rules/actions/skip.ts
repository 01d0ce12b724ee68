import { Type } from 'typebox'
import type { Issue } from '../../core/errors.js'
import { mapOf, pointerToken } from '../../core/schema.js'
import { action } from '../action.js'
import { PHASES } from '../phases.js'
import { excludes, HexId, NotEmpty, repeats } from './shared.js'

const HEX_ID = /^[0-9a-f]{32}$/
const PRODUCTS = ['bic', 'hot', 'rateLimit', 'securityLevel', 'uaBlock', 'waf', 'zoneLockdown']

/** Products implemented here, by phases, and by the security level. */
const EFFECTIVE_PRODUCTS = new Set(['rateLimit', 'securityLevel', 'waf'])

const Ids = (what: string) => Type.Array(HexId(what), { minItems: 1, maxItems: 1000 })

export const skip = action({
  name: 'skip',
  summary: 'Skips rules, rulesets, phases or products, and continues.',
  phases: [
    'magic_transit',
    'http_request_firewall_custom',
    'http_request_firewall_managed',
    'http_response_firewall_managed',
  ],

  params: NotEmpty({
    phase: Type.Optional(
      Type.Literal('current', { description: 'The rest of the phase; alone or with products, in rules of zones.' }),
    ),
    phases: Type.Optional(
      Type.Array(Type.Enum(PHASES.map(({ name }) => name)), {
        minItems: 1,
        description: 'Not with rulesets or rules.',
      }),
    ),
    products: Type.Optional(Type.Array(Type.Enum(PRODUCTS), { minItems: 1 })),
    rules: Type.Optional(
      mapOf(Ids('A rule of that ruleset.'), {
        minProperties: 1,
        maxProperties: 1000,
        'x-message': 'must name 1 to 1,000 rulesets',
        description: 'Rules by the id of their ruleset.',
      }),
    ),
    ruleset: Type.Optional(Type.Literal('current', { description: 'The rest of this ruleset.' })),
    rulesets: Type.Optional(Ids('A ruleset.')),
  }),

  check(params, { phase, level }) {
    const { phases = [], products = [], rulesets = [], rules = {} } = params
    const issues: Issue[] = [
      ...excludes(params, 'phase', ['phases', 'ruleset', 'rulesets', 'rules']),
      ...excludes(params, 'phases', ['rulesets', 'rules']),
      ...excludes(params, 'ruleset', ['rulesets', 'rules']),
      ...repeats('/phases', phases, String),
      ...repeats('/products', products, String),
      ...repeats('/rulesets', rulesets, String),
    ]
    if (params.phase && (level !== 'zone' || phase.name !== 'http_request_firewall_custom'))
      issues.push({ pointer: '/phase', message: 'is allowed in http_request_firewall_custom rules of zones only' })
    for (const id of Object.keys(rules))
      if (!HEX_ID.test(id))
        issues.push({ pointer: `/rules/${pointerToken(id)}`, message: 'the name must be the id of a ruleset' })
    return issues
  },

  inert: ({ products = [] }) =>
    products.flatMap((name, index) => (EFFECTIVE_PRODUCTS.has(name) ? [] : [`/products/${index}`])),

  prepare(params) {
    const relaxed = params.products?.includes('securityLevel')
    return (run) => {
      run.skip(params)
      const { exchange } = run
      if (relaxed)
        run.change(() => (exchange.decisions.settings = { ...exchange.decisions.settings, security_level: 'off' }))
      return undefined
    }
  },

  examples: [
    { phase: 'http_request_firewall_custom', params: { ruleset: 'current' } },
    { phase: 'http_request_firewall_custom', params: { phase: 'current', products: ['waf', 'rateLimit'] } },
    { phase: 'http_request_firewall_custom', params: { phases: ['http_ratelimit'], ruleset: 'current' } },
    {
      phase: 'http_request_firewall_managed',
      params: {
        rulesets: ['4814384a9e5d4991b9815dcfc25d2f1f'],
        rules: { efb7b8c949ac4650a09736fc376e9aee: ['5de7edfa648c4d6891dc3e7f84534ffa'] },
      },
    },
  ],
})
