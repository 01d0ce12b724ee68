import { createHash } from 'node:crypto'

/** Every permission that an endpoint can ask for and a token can hold, by its public name. */
export const PERMISSIONS = [
  'API Tokens Read',
  'API Tokens Write',
  'Account API Tokens Read',
  'Account API Tokens Write',
  'Account Filter Lists Read',
  'Account Filter Lists Write',
  'Account Rulesets Read',
  'Account Rulesets Write',
  'Account Settings Read',
  'Account Settings Write',
  'Account WAF Read',
  'Account WAF Write',
  'Allow Request Tracer Read',
  'D1 Read',
  'D1 Write',
  'L4 DDoS Managed Ruleset Read',
  'L4 DDoS Managed Ruleset Write',
  'Logs Read',
  'Logs Write',
  'Magic Firewall Read',
  'Magic Firewall Write',
  'Mass URL Redirects Read',
  'Mass URL Redirects Write',
  'SSL and Certificates Read',
  'SSL and Certificates Write',
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
] as const

export type Permission = (typeof PERMISSIONS)[number]

/** The id of a permission group: the same on every installation. */
export const permissionId = (name: string): string =>
  createHash('sha256').update(`permission:${name}`).digest('hex').slice(0, 32)

/** The name that belongs to the id of a permission group. */
export const PERMISSION_NAMES: ReadonlyMap<string, string> = new Map(
  ['*', ...PERMISSIONS].map((name) => [permissionId(name), name]),
)
