import type { Rule } from '../../../src/core/model/ruleset.js'
import { ZONE, type Client } from '../client.js'

/** The rulesets of the zone. */
export const AT = `/zones/${ZONE}/rulesets`

/** The least that a rule needs. */
export const LOG = { expression: 'true', action: 'log' }

export const names = (rules: readonly Rule[]): string[] => rules.map(({ description }) => description)

/** A custom ruleset of the zone with a log rule for each description. */
export async function custom({ call }: Client, ...descriptions: string[]) {
  const rules = descriptions.map((description) => ({ ...LOG, description }))
  const { body } = await call('POST', AT, { name: 'n', kind: 'custom', phase: 'http_request_firewall_custom', rules })
  return { ...body.result, path: `${AT}/${body.result.id}` } as { id: string; path: string; rules: Rule[] }
}
