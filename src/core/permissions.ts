import type { Issue } from './errors.js'
import { nearest } from './nearest.js'

/** Every permission that an endpoint can require and a token can have, by its public name. */
export const PERMISSIONS = [
  'API Tokens Read',
  'API Tokens Write',
  'Account API Tokens Read',
  'Account API Tokens Write',
  'Account Custom Pages Read',
  'Account Custom Pages Write',
  'Account Filter Lists Read',
  'Account Filter Lists Write',
  'Account Rulesets Read',
  'Account Rulesets Write',
  'Account Settings Read',
  'Account Settings Write',
  'Account WAF Read',
  'Account WAF Write',
  'Allow Request Tracer Read',
  'Custom Pages Read',
  'Custom Pages Write',
  'Queues Read',
  'Queues Write',
  'D1 Read',
  'D1 Write',
  'Hyperdrive Read',
  'Hyperdrive Write',
  'L4 DDoS Managed Ruleset Read',
  'L4 DDoS Managed Ruleset Write',
  'Logs Read',
  'Logs Write',
  'Cache Purge',
  'Magic Firewall Read',
  'Magic Firewall Write',
  'Managed headers Read',
  'Managed headers Write',
  'Mass URL Redirects Read',
  'Mass URL Redirects Write',
  'SSL and Certificates Read',
  'SSL and Certificates Write',
  'Secrets Store Read',
  'Secrets Store Write',
  'Select Configuration Read',
  'Select Configuration Write',
  'Transform Rules Read',
  'Transform Rules Write',
  'Workers KV Storage Read',
  'Workers KV Storage Write',
  'Workers R2 Storage Read',
  'Workers R2 Storage Write',
  'Workers Routes Read',
  'Workers Routes Write',
  'Workers Scripts Read',
  'Workers Scripts Write',
  'Workers Tail Read',
  'Zero Trust Read',
  'Zero Trust Write',
  'Zone Read',
  'Zone Settings Read',
  'Zone Settings Write',
  'Zone Write',
] as const

export type Permission = (typeof PERMISSIONS)[number]

const KNOWN: ReadonlySet<string> = new Set(['*', ...PERMISSIONS])

/** Permissions of a token or a key as flat lists. `*` means all. */
export interface FlatAccess {
  readonly permissions: readonly string[]
  readonly accounts: readonly string[]
  /** `*` means all zones of the accounts. */
  readonly zones: readonly string[]
}

/** Returns issues for unknown permissions and malformed ids. `at` is the pointer to the object with the lists. */
export function accessIssues(access: FlatAccess, at = ''): Issue[] {
  const ids = (['accounts', 'zones'] as const).flatMap((list) =>
    access[list].flatMap((id, index) =>
      id === '*' || /^[0-9a-f]{32}$/.test(id)
        ? []
        : [{ pointer: `${at}/${list}/${index}`, message: 'must be 32 digits of 0-9 and a-f, or *' }],
    ),
  )
  const permissions = access.permissions.flatMap((name, index) => {
    if (KNOWN.has(name)) return []
    const meant = nearest(name, KNOWN)
    const message = `is not a permission: ${name}${meant === undefined ? '' : `; did you mean ${meant}?`}`
    return [{ pointer: `${at}/permissions/${index}`, message }]
  })
  return [...permissions, ...ids]
}
