/** A token as `GET /user/tokens` returns it. */
export interface Token {
  readonly id: string
  readonly name: string
  readonly status: 'active' | 'disabled' | 'expired'
  readonly issued_on: string
  readonly modified_on: string
  readonly last_used_on?: string | null
  readonly not_before?: string
  readonly expires_on?: string | null
  readonly policies: readonly Policy[]
  readonly condition?: object
}

export interface Policy {
  readonly id?: string
  readonly effect: 'allow' | 'deny'
  readonly permission_groups: readonly { readonly id?: string; readonly name?: string }[]
  readonly resources: Readonly<Record<string, unknown>>
}

/** A kind of token that people often need. */
export interface Template {
  readonly key: string
  readonly name: string
  readonly text: string
  readonly groups: readonly string[]
}

export const TEMPLATES: readonly Template[] = [
  {
    key: 'read',
    name: 'Read only',
    text: 'Sees everything, changes nothing. For dashboards on a wall and for monitoring.',
    groups: [
      'Zone Read',
      'Zone Settings Read',
      'Logs Read',
      'Account Rulesets Read',
      'Account Settings Read',
      'Account Filter Lists Read',
      'Workers Scripts Read',
      'Workers Routes Read',
      'Zero Trust Read',
      'SSL and Certificates Read',
    ],
  },
  {
    key: 'logs',
    name: 'Log shipping',
    text: 'Creates, changes and deletes log jobs.',
    groups: ['Logs Read', 'Logs Write', 'Zone Read'],
  },
  {
    key: 'workers',
    name: 'Workers CI',
    text: 'Uploads Workers with their routes and data, as a build does.',
    groups: [
      'Workers Scripts Write',
      'Workers Routes Write',
      'Workers KV Storage Write',
      'Workers R2 Storage Write',
      'D1 Write',
      'Queues Write',
      'Workers Tail Read',
      'Zone Read',
      'Account Settings Read',
    ],
  },
  {
    key: 'purge',
    name: 'Purge',
    text: 'Empties the cache, for a deploy script.',
    groups: ['Cache Purge', 'Zone Read'],
  },
  { key: 'own', name: 'Own', text: 'You choose each permission.', groups: [] },
]

const ZONES = 'com.cloudflare.api.account.zone.'
const ACCOUNT = 'com.cloudflare.api.account.'

/** Returns the resources of a policy: the account with all of its zones, or some zones with what of the account they need. */
export function resourcesOf(account: string, zones: readonly string[]): Record<string, unknown> {
  if (zones.length === 0) return { [`${ACCOUNT}${account}`]: '*', [`${ZONES}*`]: '*' }
  return Object.fromEntries(zones.map((zone) => [`${ZONES}${zone}`, '*']))
}

/** Names what a policy covers, in few words. */
export function scopeOf(token: Token, nameOf: (id: string) => string | undefined): string {
  const keys = token.policies.flatMap(({ resources }) => Object.keys(resources))
  const zones = keys.filter((key) => key.startsWith(ZONES)).map((key) => key.slice(ZONES.length))
  if (zones.includes('*')) return 'All zones'
  const known = zones.map((zone) => nameOf(zone) ?? 'a zone that this token does not see')
  if (known.length === 0) return 'Account'
  return known.length > 2 ? `${known.length} zones` : known.join(', ')
}

export const groupsOf = (token: Token): readonly string[] => [
  ...new Set(token.policies.flatMap(({ permission_groups: groups }) => groups.map(({ name, id }) => name ?? id ?? ''))),
]
