import { accessOf, type AccessEntry } from '../../agents/access/access.js'
import type { ZoneConfig } from '../../config/schema.js'
import { NORMALIZATION, type UrlNormalization } from '../../core/model/transforms.js'
import type { ManagedTransforms } from './managed-transforms.js'
import { Balancer, type BalancerOptions, type Balancers } from '../balancing/balancer.js'
import type { Places } from './paths.js'
import { originOptions, zonePlaces } from './zone-places.js'
import { httpsSettings, type HttpsSettings } from './https-settings.js'
import type { ProxyProtocol } from '../../http/proxy-protocol.js'
import type { ClientAuthority } from '../../tls/client-authority.js'
import type { Settings } from '../../rules/decisions.js'
import type { CacheOptions } from '../cache/entries/types.js'
import type { ZoneRules } from '../../rules/engine/zone-rules.js'

/** A site that the proxy serves. It is immutable. A change creates another zone and another table. */
export interface Zone {
  readonly id: string
  readonly accountId: string
  readonly name: string
  /** Names in lower case. A leading `*.` matches every name below, at any depth, and `*` matches every other host. */
  readonly hostnames: readonly string[]
  /** The origins, and the choice between them. */
  readonly balancer: Balancer
  /** Other origins, folders and authentication by path. Undefined if there are none. */
  readonly places?: Places | undefined
  /** Text is compressed for clients that accept it. */
  readonly compresses?: boolean
  /** PEM text of the authority that signs an https origin, added to the default ones. */
  readonly originCa: string | undefined
  /** Version of the PROXY header that connections to origins begin with. */
  readonly proxyProtocol: ProxyProtocol
  /** Signs certificates of clients, which are asked for one. Undefined if clients are not asked. */
  readonly clientAuthority?: ClientAuthority | undefined
  readonly plan: ZoneConfig['plan']
  readonly settings: Settings
  readonly negotiation: ZoneConfig['negotiation']
  /** The Markdown of each page has an address of its own, `/page.md`. */
  readonly mdAddresses?: boolean
  /** Markdown is compressed as the client accepts it; otherwise only compression rules compress it. */
  readonly compressesMarkdown?: boolean
  /** Addresses in Markdown are absolute. */
  readonly hasAbsoluteLinks?: boolean
  /** Source of `/llms.txt`. With off, the origin responds. */
  readonly llmsTxt?: ZoneConfig['markdown']['llms_txt']
  /** Content and permissions of agents, as configured. Files are `file:` and their absolute path. */
  readonly agents?: ZoneConfig['agents']
  /** The entries of `agents.access`. Undefined if there are none. */
  readonly agentAccess?: readonly AccessEntry[] | undefined
  readonly websockets: boolean
  readonly cache: CacheOptions
  readonly https: HttpsSettings
  /** With `all`, conversion is on for each custom hostname of the zone, regardless of its metadata. */
  readonly customHostnames: ZoneConfig['custom_hostnames']
  /** Undefined if no rules are configured. */
  readonly rules: ZoneRules | undefined
  /** Host name of the origin of custom hostnames without their own. Undefined if the zone's origin is used. */
  readonly fallbackOrigin?: string | undefined
  /** The API named the origin, so it passes the egress guard. */
  readonly hasNamedOrigin?: true
  /** Requests pass to the origin, and nothing else happens. */
  readonly isPaused?: true
  /** Undefined if none is on. */
  readonly transforms?: ManagedTransforms | undefined
  /** Undefined if paths are not changed. */
  readonly normalization?: UrlNormalization | undefined
  /** The zone has the names below `workers.domain`. Each name is a Worker, and there is no origin. */
  readonly isOfWorkers?: true
}

/** A customer's name that a zone serves. */
export interface CustomHostname {
  readonly id: string
  readonly hostname: string
  readonly zoneId: string
  readonly metadata: Readonly<Record<string, string>>
  /** Names below it, at any depth, belong to it too. */
  readonly wildcard?: boolean
  /** Host name of its own origin. */
  readonly originServer?: string
  /** Server name in TLS to the origin; `:request_host_header:` is the requested host. */
  readonly originSni?: string
}

/** The zone that serves a host. */
export interface Served {
  readonly zone: Zone
  /** The requested host in lower case, without port and trailing dot. */
  readonly host: string
  /** The custom hostname that matched, if any. */
  readonly custom: CustomHostname | undefined
}

/** Finds the zone of a host name. */
export interface ZoneTable {
  readonly zones: readonly Zone[]
  /**
   * Returns the zone for a Host field. An exact name wins over a custom hostname, that over the longest `*.` pattern or
   * custom hostname with a wildcard, that over `*`.
   */
  find(host: string): Served | undefined
}

/** A table in which single zones can change. */
export interface ZoneList extends ZoneTable {
  /** Returns a zone by its id. */
  get(id: string): Zone | undefined
  /**
   * Returns the table with some zones replaced, which keep their id and host names. Costs the same however many zones
   * there are, because both tables share their names: `find` of either returns the new zones.
   */
  with(changed: readonly Zone[]): ZoneList
  /**
   * Returns the table with further zones after the others. The cost depends on the number of host names of the added
   * zones.
   */
  plus(added: readonly Zone[]): ZoneList
  /** Returns the table without some zones. The cost depends on the number of host names of the removed zones. */
  without(removed: ReadonlySet<string>): ZoneList
}

/** The active table. It is replaced as a whole. A request uses the zone that it found at its beginning. */
export interface Zones {
  current: ZoneTable
}

/**
 * Custom hostnames by name. They are separate from the tables, because there may be 50,000 custom hostnames and
 * they change individually. A change has the same cost for any number of custom hostnames, and the next request sees
 * it.
 */
export class CustomHostnames {
  readonly #byName = new Map<string, CustomHostname>()
  readonly #wildcards = new Map<string, CustomHostname>()

  get size(): number {
    return this.#byName.size
  }

  get(host: string): CustomHostname | undefined {
    return this.#byName.get(host)
  }

  /** Returns the custom hostname with a wildcard that serves the names below `parent`. */
  above(parent: string): CustomHostname | undefined {
    return this.#wildcards.get(parent)
  }

  set(hostname: CustomHostname): void {
    const name = normalHost(hostname.hostname)
    this.#byName.set(name, hostname)
    if (hostname.wildcard) this.#wildcards.set(name, hostname)
    else this.#wildcards.delete(name)
  }

  delete(name: string): void {
    this.#byName.delete(normalHost(name))
    this.#wildcards.delete(normalHost(name))
  }
}

/** Cache options of a zone whose responses are not cached. */
export const NO_CACHE: CacheOptions = {
  mode: 'off',
  query: 'key',
  sortQuery: false,
  browserTtl: 0,
  developmentUntil: 0,
  alwaysOnline: false,
}

/** Returns the options about origins. */
export const balancerOptions = (config: ZoneConfig): BalancerOptions =>
  originOptions(config, { ...config, health: config.health })

/** Returns the balancers of a zone and of its paths. */
export const balancersOf = ({ balancer, places }: Pick<Zone, 'balancer' | 'places'>): readonly Balancer[] =>
  places === undefined ? [balancer] : [...new Set([balancer, ...places.all.map((place) => place.balancer)])]

/** Parts of a zone that its configuration does not have. */
interface ZoneParts {
  readonly balancer?: Balancer
  /** Balancers of the paths. */
  readonly balancers?: Pick<Balancers, 'of'>
  readonly ca?: string
  readonly clientAuthority?: ClientAuthority | undefined
  readonly rules?: ZoneRules | undefined
  /** Set through the API. */
  readonly settings?: Partial<Settings>
  /** Set through the API. */
  readonly cache?: Partial<CacheOptions>
  readonly fallbackOrigin?: string | undefined
  readonly hasNamedOrigin?: true
  readonly transforms?: ManagedTransforms | undefined
  /** Undefined if the default applies. */
  readonly normalization?: UrlNormalization | undefined
}

/** Creates a zone from its configuration. */
export function zoneOf(
  config: ZoneConfig,
  {
    balancer = new Balancer(balancerOptions(config)),
    ca,
    clientAuthority,
    rules,
    settings,
    cache = {},
    normalization = NORMALIZATION,
    balancers,
    ...parts
  }: ZoneParts = {},
): Zone {
  const name = normalHost(config.name)
  return {
    id: config.id,
    accountId: config.account,
    name,
    hostnames: config.hostnames?.map(normalHost) ?? [name, `*.${name}`],
    balancer,
    places: zonePlaces(config, balancer, balancers),
    compresses: config.compress,
    originCa: ca,
    clientAuthority,
    proxyProtocol: config.origin_proxy_protocol,
    plan: config.plan,
    settings: {
      content_converter: config.settings.content_converter === 'on' && config.plan !== 'free',
      content_converter_content: config.markdown.content,
      ...(config.settings.ssl && { ssl: config.settings.ssl }),
      ...settings,
    },
    negotiation: config.negotiation,
    mdAddresses: config.markdown.md_addresses || config.agents.hint,
    compressesMarkdown: config.markdown.compress,
    hasAbsoluteLinks: config.markdown.links === 'absolute' || config.agents.hint,
    llmsTxt: config.markdown.llms_txt,
    agents: config.agents,
    agentAccess: config.agents.access.length > 0 ? accessOf(config.agents.access) : undefined,
    cache: { ...NO_CACHE, mode: config.cache, ...cache },
    websockets: config.settings.websockets === undefined ? config.websockets : config.settings.websockets === 'on',
    https: httpsSettings(config.settings),
    customHostnames: config.custom_hostnames,
    normalization: normalization.scope === 'none' ? undefined : normalization,
    rules,
    ...parts,
  }
}

/** Creates a paused zone: only the options about its origins and about TLS act. */
export function pausedZone(
  config: ZoneConfig,
  { ssl, min_tls_version, http2, websockets }: ZoneConfig['settings'],
  parts: Pick<ZoneParts, 'balancer' | 'balancers' | 'ca' | 'fallbackOrigin' | 'hasNamedOrigin'>,
): Zone {
  const settings = {
    content_converter: 'off' as const,
    ...(ssl && { ssl }),
    ...(min_tls_version && { min_tls_version }),
    ...(http2 && { http2 }),
    ...(websockets && { websockets }),
  }
  const markdown = { ...config.markdown, md_addresses: false, llms_txt: 'off' as const }
  const agents = {
    ...config.agents,
    hint: false,
    robots: false,
    access: [],
    mcp: false,
    skills: false,
    api_catalog: false as const,
  }
  const zone = zoneOf({ ...config, settings, markdown, agents, cache: 'off', custom_hostnames: 'selected' }, parts)
  return { ...zone, isPaused: true, normalization: undefined }
}

/** Creates a table of these zones. A host name of two zones belongs to the first. */
export function zoneTable(zones: readonly Zone[], customHostnames = new CustomHostnames()): ZoneList {
  return tableOf(zones, new ZoneNames(zones, customHostnames))
}

const tableOf = (zones: readonly Zone[], names: ZoneNames): ZoneList => ({
  zones,
  find: (host) => names.find(host),
  get: (id) => names.get(id),
  with(changed) {
    const next = [...zones]
    for (const zone of changed) next[names.replace(zone)] = zone
    return tableOf(next, names)
  },
  plus(added) {
    for (const zone of added) names.add(zone)
    return tableOf([...zones, ...added], names)
  },
  without(removed) {
    if (removed.size === 0) return tableOf(zones, names)
    const next = zones.filter(({ id }) => !removed.has(id))
    for (const zone of zones) if (removed.has(zone.id)) names.remove(zone)
    names.place(next)
    return tableOf(next, names)
  },
})

/** The zones by host name. */
class ZoneNames {
  readonly #customHostnames: CustomHostnames
  /** Zones by id, with their place in the list. */
  readonly #byId = new Map<string, { place: number; zone: Zone }>()
  readonly #exact = new Map<string, Served>()
  readonly #below = new Map<string, Zone>()
  #other: Zone | undefined
  /** By host name, the ids of zones that have it after its owner, in their order. */
  readonly #later = new Map<string, string[]>()

  constructor(zones: readonly Zone[], customHostnames: CustomHostnames) {
    this.#customHostnames = customHostnames
    for (const zone of zones) this.add(zone)
  }

  get(id: string): Zone | undefined {
    return this.#byId.get(id)?.zone
  }

  /** Adds a zone after the others. */
  add(zone: Zone): void {
    this.#byId.set(zone.id, { place: this.#byId.size, zone })
    for (const hostname of zone.hostnames) {
      const owner = this.#owner(hostname)
      if (owner === undefined) this.#give(hostname, zone)
      else if (owner.id !== zone.id) this.#later.set(hostname, [...(this.#later.get(hostname) ?? []), zone.id])
    }
  }

  /** Removes a zone. Each of its names belongs to the next zone that has it. */
  remove(zone: Zone): void {
    this.#byId.delete(zone.id)
    for (const hostname of zone.hostnames) {
      const later = (this.#later.get(hostname) ?? []).filter((id) => id !== zone.id)
      if (this.#owner(hostname)?.id === zone.id) this.#give(hostname, this.#byId.get(later.shift() ?? '')?.zone)
      if (later.length > 0) this.#later.set(hostname, later)
      else this.#later.delete(hostname)
    }
  }

  /** Sets the places of all zones. */
  place(zones: readonly Zone[]): void {
    for (const [place, { id }] of zones.entries()) this.#byId.get(id)!.place = place
  }

  /** Replaces the zone with the same id. Returns its place in the list. */
  replace(zone: Zone): number {
    const known = this.#byId.get(zone.id)
    if (!known) throw new Error(`zone ${zone.id} is not in the table`)
    known.zone = zone
    for (const hostname of zone.hostnames) if (this.#owner(hostname)?.id === zone.id) this.#give(hostname, zone)
    return known.place
  }

  #owner(hostname: string): Zone | undefined {
    if (hostname === '*') return this.#other
    return hostname.startsWith('*.') ? this.#below.get(hostname.slice(2)) : this.#exact.get(hostname)?.zone
  }

  #give(hostname: string, zone: Zone | undefined): void {
    if (hostname === '*') this.#other = zone
    else if (hostname.startsWith('*.')) {
      const parent = hostname.slice(2)
      if (zone) this.#below.set(parent, zone)
      else this.#below.delete(parent)
    } else if (zone) this.#exact.set(hostname, { zone, host: hostname, custom: undefined })
    else this.#exact.delete(hostname)
  }

  find(field: string): Served | undefined {
    const known = this.#exact.get(field)
    if (known) return known
    if (field.length > MAX_FIELD) return undefined
    const host = normalHost(field)
    return (
      this.#exact.get(host) ??
      this.#ofCustomer(host) ??
      this.#ofParent(host) ??
      (this.#other && { zone: this.#other, host, custom: undefined })
    )
  }

  #ofCustomer(host: string): Served | undefined {
    const custom = this.#customHostnames.get(host)
    const zone = custom && this.#byId.get(custom.zoneId)?.zone
    return zone && { zone, host, custom }
  }

  #ofParent(host: string): Served | undefined {
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const parent = host.slice(dot + 1)
      const zone = this.#below.get(parent)
      if (zone) return { zone, host, custom: undefined }
      const custom = this.#customHostnames.above(parent)
      const owner = custom && this.#byId.get(custom.zoneId)?.zone
      if (owner) return { zone: owner, host, custom }
    }
    return undefined
  }
}

/**
 * Maximum name length (RFC 1035: 253) with dot and port; longer ones are not looked up, however many labels there are.
 */
const MAX_FIELD = 260

/** Returns the name in lower case, without port, trailing dot and the brackets of an IPv6 literal. */
export function normalHost(field: string): string {
  let host = field.toLowerCase()
  if (host.startsWith('[')) return host.slice(1, Math.max(host.indexOf(']'), 1))
  const colon = host.indexOf(':')
  if (colon >= 0 && colon === host.lastIndexOf(':')) host = host.slice(0, colon)
  return host.endsWith('.') ? host.slice(0, -1) : host
}
