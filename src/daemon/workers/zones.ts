import { httpsSettings } from '../../edge/exchange/https-settings.js'
import { createHash } from 'node:crypto'
import type { StoreReader } from '../../core/store.js'
import { Balancer } from '../../edge/balancing/balancer.js'
import { NO_CACHE, normalHost, type Served, type Zone, type Zones, type ZoneTable } from '../../edge/exchange/zones.js'
import { accountOfSubdomain } from '../../workers/script-address.js'

/** Old versions of wrangler print addresses below this name, even if the server returns others. */
const ORIGINAL_DOMAIN = 'workers.dev'

/** Every request of these zones is a Worker's. */
const NO_ORIGIN = new Balancer({
  peers: [{ url: '', weight: 1, backup: false, connections: undefined }],
  balance: 'round_robin',
  retries: 0,
  health: undefined,
})

export interface WorkerZonesDeps {
  readonly zones: Zones
  readonly store: StoreReader
  /** Ids of the configured accounts. */
  readonly accounts: () => readonly string[]
  /** Lower case, without a dot at either end. */
  readonly domain: string
}

/**
 * The zones, and one more per account for its Workers: `NAME.SUBDOMAIN.DOMAIN` is the Worker NAME of the account with that
 * subdomain. A host name that a configured zone lists exactly belongs to that zone.
 */
export class WorkerZones implements Zones {
  readonly #deps: WorkerZonesDeps
  readonly #suffixes: readonly string[]
  /** One zone per account. */
  readonly #zones = new Map<string, Zone>()
  readonly #table: ZoneTable

  constructor(deps: WorkerZonesDeps) {
    this.#deps = deps
    this.#suffixes = [...new Set([deps.domain, ORIGINAL_DOMAIN])].map((domain) => `.${domain}`)
    const { zones } = deps
    this.#table = {
      get zones() {
        return zones.current.zones
      },
      find: (host) => this.#find(host),
    }
  }

  get current(): ZoneTable {
    return this.#table
  }

  #find(field: string): Served | undefined {
    const served = this.#deps.zones.current.find(field)
    const host = served?.host ?? normalHost(field)
    const suffix = this.#suffixes.find((one) => host.endsWith(one))
    if (suffix === undefined) return served
    if (served?.zone.hostnames.includes(host) && !served.zone.hasNamedOrigin) return served
    const labels = host.slice(0, -suffix.length).split('.')
    const { store, accounts } = this.#deps
    const id = labels.length === 2 ? accountOfSubdomain(store, labels[1]!, accounts()) : undefined
    return id === undefined ? served : { zone: this.#zone(id), host, custom: undefined }
  }

  #zone(accountId: string): Zone {
    const known = this.#zones.get(accountId)
    if (known) return known
    const zone: Zone = {
      id: createHash('sha256').update(`workers of ${accountId}`).digest('hex').slice(0, 32),
      accountId,
      name: this.#deps.domain,
      hostnames: [],
      balancer: NO_ORIGIN,
      originCa: undefined,
      proxyProtocol: 'off',
      plan: 'enterprise',
      settings: { content_converter: false },
      negotiation: 'listed',
      websockets: true,
      https: httpsSettings({}),
      customHostnames: 'selected',
      cache: NO_CACHE,
      rules: undefined,
      isOfWorkers: true,
    }
    this.#zones.set(accountId, zone)
    return zone
  }
}
