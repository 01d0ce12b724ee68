import { Type } from 'typebox'

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
