import type { Permission } from '../permissions.js'

/** Any of these may change rulesets of every phase. */
export const WRITE = [
  'Mass URL Redirects Write',
  'Magic Firewall Write',
  'L4 DDoS Managed Ruleset Write',
  'Transform Rules Write',
  'Select Configuration Write',
  'Account WAF Write',
  'Account Rulesets Write',
  'Logs Write',
] as const satisfies readonly Permission[]

/** Any of these may read them. */
export const READ = [
  ...WRITE,
  'Mass URL Redirects Read',
  'Magic Firewall Read',
  'L4 DDoS Managed Ruleset Read',
  'Transform Rules Read',
  'Select Configuration Read',
  'Account WAF Read',
  'Account Rulesets Read',
  'Logs Read',
] as const satisfies readonly Permission[]
