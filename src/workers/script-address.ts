import { ACCOUNT_SUBDOMAIN, ONLY, SUBDOMAIN_OWNERS } from '../core/model/worker-routing.js'
import { account, DAEMON, type Scope } from '../core/scope.js'
import type { StoreReader } from '../core/store.js'

/** Returns the subdomain of an account. An account that chose none has its id, if Workers have a domain. */
export function subdomainOf(store: StoreReader, scope: Scope, domain: string | null): string | undefined {
  return store.get(ACCOUNT_SUBDOMAIN, scope, ONLY)?.value.subdomain ?? (domain === null ? undefined : scope.id)
}

/** Returns the id of the account with this subdomain. `accounts` are the ids of the configured accounts. */
export function accountOfSubdomain(
  store: StoreReader,
  subdomain: string,
  accounts: readonly string[],
): string | undefined {
  const owner = store.get(SUBDOMAIN_OWNERS, DAEMON, subdomain)?.value.account_id
  if (owner !== undefined) return owner
  if (!accounts.includes(subdomain)) return undefined
  return store.get(ACCOUNT_SUBDOMAIN, account(subdomain), ONLY) ? undefined : subdomain
}
