import { HOSTNAME_OWNER } from '../../../src/core/model/hostname.js'
import { domainId, WORKER_DOMAINS, type StoredDomain } from '../../../src/core/model/worker-routing.js'
import { DAEMON, type Scope } from '../../../src/core/scope.js'
import type { Stored, Write } from '../../../src/core/store.js'
import { audit, type Actor } from '../../resources/audit.js'
import { ApiError } from '../../http/errors.js'
import { hostName } from '../../zones/hostname-match.js'
import type { WorkersDeps } from './index.js'
import { scriptOf } from './find.js'
import { zoneOf } from './zone-of.js'

const MAX_DOMAINS = 1000

/** A domain as in request bodies. */
export interface WantedDomain {
  readonly hostname: string
  readonly zone_id?: string
  readonly zone_name?: string
  readonly environment?: string
  readonly enabled?: boolean
  readonly previews_enabled?: boolean
}

/** What becomes of the domains of a Worker. */
export interface DomainChanges {
  readonly added: readonly StoredDomain[]
  readonly removed: readonly StoredDomain[]
  /** Those that are there already; `modified` ones become another's or change their switches. */
  readonly updated: readonly (StoredDomain & { readonly modified: boolean })[]
  /** Those whose name something else of the zone has. */
  readonly conflicting: readonly StoredDomain[]
}

/** The domains of all Workers. */
export class DomainRepository {
  readonly #deps: WorkersDeps

  constructor(deps: WorkersDeps) {
    this.#deps = deps
  }

  /** In the order of their host names. */
  all(scope: Scope): StoredDomain[] {
    const found = this.#deps.store.list(WORKER_DOMAINS, scope).map(({ value }) => value)
    return found.sort((a, b) => (a.hostname < b.hostname ? -1 : 1))
  }

  get(scope: Scope, id: string): Stored<StoredDomain> {
    const found = this.#deps.store.get(WORKER_DOMAINS, scope, id)
    if (!found) throw new ApiError('domainNotFound')
    return found
  }

  /** The domain as it would be stored. Throws with a pointer below `at`. */
  checked(scope: Scope, service: string, wanted: WantedDomain, at: string): StoredDomain {
    const hostname = hostName(wanted.hostname)
    if (hostname === undefined)
      throw new ApiError('badDomain', `${at}/hostname`, 'must be a host name, as in app.example.com')
    const place = { at, refusal: 'badDomain', member: 'hostname' } as const
    const zone = zoneOf(this.#deps.config().zones, scope.id, hostname, wanted, place)
    const id = domainId(hostname)
    const known = this.#deps.store.get(WORKER_DOMAINS, scope, id)?.value
    return {
      id,
      hostname,
      service,
      environment: wanted.environment ?? 'production',
      zone_id: zone.id,
      zone_name: zone.name,
      enabled: wanted.enabled ?? known?.enabled ?? true,
      previews_enabled: wanted.previews_enabled ?? known?.previews_enabled ?? false,
    }
  }

  /** Returns the changes of a Worker's domains. With `replace`, domains that are not named are removed. */
  changes(scope: Scope, service: string, wanted: readonly WantedDomain[], replace: boolean, at = ''): DomainChanges {
    const domains = wanted.map((one, index) => this.checked(scope, service, one, `${at}/${index}`))
    const twice = domains.findIndex(({ id }, index) => domains.findIndex((one) => one.id === id) < index)
    if (twice >= 0) throw new ApiError('badDomain', `${at}/${twice}/hostname`, 'is given twice')
    const known = (id: string) => this.#deps.store.get(WORKER_DOMAINS, scope, id)?.value
    const free = domains.filter((domain) => !this.taken(domain.hostname))
    const named = new Set(domains.map(({ id }) => id))
    return {
      added: free.filter(({ id }) => !known(id)),
      removed: replace ? this.all(scope).filter((one) => one.service === service && !named.has(one.id)) : [],
      updated: free.flatMap((domain) => {
        const before = known(domain.id)
        return before ? [{ ...domain, modified: before.service !== domain.service }] : []
      }),
      conflicting: domains.filter(({ hostname }) => this.taken(hostname)),
    }
  }

  /** Whether a name is a custom hostname of a zone. */
  taken(hostname: string): boolean {
    return this.#deps.store.get(HOSTNAME_OWNER, DAEMON, hostname) !== undefined
  }

  /** Stores domains of one Worker, and removes others, in one batch. */
  async save(actor: Actor, domains: readonly StoredDomain[], removed: readonly StoredDomain[] = []): Promise<void> {
    const { store, clock } = this.#deps
    const { scope } = actor
    const changes: { write: Write; before: StoredDomain | undefined; after: StoredDomain | undefined }[] = []
    for (const value of domains) {
      const before = store.get(WORKER_DOMAINS, scope, value.id)
      const write = { kind: WORKER_DOMAINS, scope, id: value.id, value, ifVersion: before?.version ?? 0 }
      changes.push({ write, before: before?.value, after: value })
    }
    for (const value of removed) changes.push({ write: this.removal(scope, value), before: value, after: undefined })
    const added = changes.filter(({ before }) => !before).length
    if (added > 0 && store.count(WORKER_DOMAINS, scope) + added - removed.length > MAX_DOMAINS)
      throw new ApiError('tooManyDomains')
    await store.batch(
      changes.map(({ write }) => write),
      changes.map(({ write: { id }, before, after }) =>
        audit(clock, actor, { kind: WORKER_DOMAINS, scope, id, before, after }),
      ),
    )
  }

  removal(scope: Scope, { id }: StoredDomain): Write {
    return { kind: WORKER_DOMAINS, scope, id, value: undefined }
  }

  /** Throws if the Worker does not exist. */
  requireScript(scope: Scope, name: string): void {
    scriptOf(this.#deps, scope, name)
  }
}
