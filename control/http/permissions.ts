import { createHash } from 'node:crypto'
import { PERMISSIONS, type Permission } from '../../src/core/permissions.js'

export { PERMISSIONS, type Permission } from '../../src/core/permissions.js'

interface Access {
  /** Any of these allows reading. */
  readonly read: readonly Permission[]
  /** Any of these allows changes. */
  readonly write: readonly Permission[]
}

/** A permission to change includes the one to read. */
const access = (read: readonly Permission[], write: readonly Permission[]): Access => ({
  read: [...read, ...write],
  write,
})

/** Permissions that each area of the API requires. */
export const ACCESS = {
  customPages: access(
    ['Custom Pages Read', 'Account Custom Pages Read', 'Account Settings Read'],
    ['Custom Pages Write', 'Account Custom Pages Write', 'Account Settings Write'],
  ),
  members: access(['Account Settings Read'], ['Account Settings Write']),
  lists: access(['Account Filter Lists Read'], ['Account Filter Lists Write']),
  logpush: access(['Logs Read'], ['Logs Write']),
  /** Of every phase. */
  rulesets: access(
    [
      'Mass URL Redirects Read',
      'Magic Firewall Read',
      'L4 DDoS Managed Ruleset Read',
      'Transform Rules Read',
      'Select Configuration Read',
      'Account WAF Read',
      'Account Rulesets Read',
      'Logs Read',
    ],
    [
      'Mass URL Redirects Write',
      'Magic Firewall Write',
      'L4 DDoS Managed Ruleset Write',
      'Transform Rules Write',
      'Select Configuration Write',
      'Account WAF Write',
      'Account Rulesets Write',
      'Logs Write',
    ],
  ),
  kv: access(['Workers KV Storage Read'], ['Workers KV Storage Write']),
  r2: access(['Workers R2 Storage Read'], ['Workers R2 Storage Write']),
  queues: access(['Queues Read'], ['Queues Write']),
  d1: access(['D1 Read'], ['D1 Write']),
  secretsStore: access(['Secrets Store Read'], ['Secrets Store Write']),
  hyperdrive: access(['Hyperdrive Read'], ['Hyperdrive Write']),
  webhooks: access(['Zero Trust Read'], ['Zero Trust Write']),
  routes: access(['Workers Routes Read'], ['Workers Routes Write']),
  zones: access(['Zone Read'], ['Zone Write']),
  zoneSettings: access(['Zone Settings Read'], ['Zone Settings Write']),
  cacheSettings: access(['Zone Settings Read', 'Zone Read'], ['Zone Settings Write', 'Zone Write']),
  urlNormalization: access(
    ['Zone Settings Read', 'Transform Rules Read'],
    ['Zone Settings Write', 'Transform Rules Write'],
  ),
  managedHeaders: access(
    ['Managed headers Read', 'Transform Rules Read'],
    ['Managed headers Write', 'Transform Rules Write'],
  ),
  certificates: access(['SSL and Certificates Read'], ['SSL and Certificates Write']),
  workers: access(['Workers Scripts Read', 'Workers Tail Read'], ['Workers Scripts Write']),
} as const satisfies Readonly<Record<string, Access>>

/** Returns the id of a permission group, which is the same on every installation. */
export const permissionId = (name: string): string =>
  createHash('sha256').update(`permission:${name}`).digest('hex').slice(0, 32)

/** Returns the name for the id of a permission group. */
export const PERMISSION_NAMES: ReadonlyMap<string, string> = new Map(
  ['*', ...PERMISSIONS].map((name) => [permissionId(name), name]),
)
