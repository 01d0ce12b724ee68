import { createHash } from 'node:crypto'
import { kind, type NameOwner } from '../store.js'

/**
 * A host name that a Worker serves. The scope is the account. The id is {@link domainId}, so that a name belongs to
 * at most one Worker.
 */
export interface StoredDomain {
  readonly id: string
  readonly hostname: string
  /** Name of the Worker. */
  readonly service: string
  readonly environment: string
  readonly zone_id: string
  readonly zone_name: string
  /** A disabled domain is stored, but serves nothing. */
  readonly enabled: boolean
  readonly previews_enabled: boolean
}
export const WORKER_DOMAINS = kind<StoredDomain>('worker_domain')

/** Returns the id of the domain with this host name (lower case): 40 hexadecimal digits. */
export const domainId = (hostname: string): string =>
  createHash('sha256').update(`worker domain ${hostname}`).digest('hex').slice(0, 40)

/**
 * A URL pattern of a zone. The scope is the zone. The id is 32 hexadecimal digits. Without a script, Workers are off
 * there.
 */
export interface StoredRoute {
  readonly id: string
  readonly pattern: string
  /** Name of the Worker. */
  readonly script?: string
}
export const WORKER_ROUTES = kind<StoredRoute>('worker_route')

/** The route that owns a pattern. The scope is the zone. The id is the pattern. */
export const ROUTE_PATTERNS = kind<NameOwner>('worker_route_pattern')

/** The subdomain for addresses of the Workers of an account. The scope is the account. The id is `account`. */
export interface AccountSubdomain {
  readonly subdomain: string
}
export const ACCOUNT_SUBDOMAIN = kind<AccountSubdomain>('worker_account_subdomain')

/** The account that owns a subdomain. The scope is the daemon. The id is the subdomain. */
export interface SubdomainOwner {
  readonly account_id: string
}
export const SUBDOMAIN_OWNERS = kind<SubdomainOwner>('worker_subdomain_owner')

/**
 * The address of a Worker below the subdomain of its account. The scope is the account. The id is the Worker's name.
 */
export interface ScriptSubdomain {
  readonly enabled: boolean
  readonly previews_enabled: boolean
}
export const SCRIPT_SUBDOMAINS = kind<ScriptSubdomain>('worker_subdomain')

/** The schedules of a Worker. The scope is the account. The id is the Worker's name. */
export interface ScriptSchedules {
  readonly schedules: readonly { readonly cron: string; readonly created_on: string; readonly modified_on: string }[]
}
export const SCRIPT_SCHEDULES = kind<ScriptSchedules>('worker_schedules')

/** Defaults of the Workers of an account. The scope is the account. The id is `account`. */
export interface WorkersAccountSettings {
  readonly default_usage_model: string
  readonly green_compute: boolean
}
export const WORKERS_ACCOUNT_SETTINGS = kind<WorkersAccountSettings>('worker_account_settings')

/** The id of record kinds with at most one record per account. */
export const ONLY = 'account'
