import { readFileSync } from 'node:fs'
import type { ZoneConfig } from '../config/schema.js'
import { FALLBACK_ORIGIN, FALLBACK_ORIGIN_ID, HOSTNAME, type Hostname } from '../core/model/hostname.js'
import { DEVELOPMENT_MS, SETTING, type Setting } from '../core/model/setting.js'
import { MANAGED_TRANSFORMS, TRANSFORM_ID, URL_NORMALIZATION } from '../core/model/transforms.js'
import { ZONE_STATE_ID, ZONE_STATES, ZONES } from '../core/model/zone.js'
import { ZoneSettingValues } from '../core/model/zone-settings.js'
import { EventLoopYield } from '../core/event-loop-yield.js'
import { zone as zoneScope, type Scope } from '../core/scope.js'
import { loadClientAuthority, type ClientAuthority } from '../tls/client-authority.js'
import type { Change, StoreReader, Stored } from '../core/store.js'
import type { CacheOptions } from '../edge/cache/types.js'
import { Balancers } from '../edge/origins/balancer.js'
import { managedTransforms } from '../edge/managed-transforms.js'
import type { RulesetCache } from '../rules/engine/ruleset-cache.js'
import {
  balancerOptions,
  CustomHostnames,
  pausedZone,
  zoneOf,
  zoneTable,
  type Zone,
  type ZoneList,
  type Zones,
} from '../edge/zones.js'
import { AllZones, type ZoneOptions } from './all-zones.js'

/** Zones that are created again in one turn of the event loop, at about 20 us each. */
const MAX_ZONES_PER_TURN = 50

/** A change of many zones that is not in force yet. */
interface Replacement {
  /** Ids of the zones that have still to be created. */
  readonly ids: Set<string>
  /** Ids of the zones of the replacement after it. */
  readonly next: Set<string>
}

/** Kinds of records, besides rules, custom hostnames and zones themselves, that the zones depend on. */
const KINDS: ReadonlySet<string> = new Set(
  [SETTING, FALLBACK_ORIGIN, ZONE_STATES, MANAGED_TRANSFORMS, URL_NORMALIZATION].map(({ name }) => name),
)

/**
 * The active zones: the configuration and zones created through the API, overridden by settings of the API. A change
 * from any machine applies to the next request.
 */
export class ZoneRegistry implements Zones {
  current: ZoneList
  readonly #store: StoreReader
  readonly #rules: RulesetCache
  readonly #demoOrigin: string | undefined
  readonly #customHostnames = new CustomHostnames()
  /** Names of custom hostnames by scope and id, to find the name of a removed record. */
  readonly #names = new Map<string, string>()
  readonly #balancers = new Balancers()
  readonly #unwatch: () => void
  readonly #all: AllZones
  #config: ZoneOptions
  readonly #slices = new EventLoopYield()
  #replacement: Replacement | undefined
  /** Resolves when {@link #replacement} is in force. */
  #replacing: Promise<void> | undefined
  /** The zones of the table. */
  #listed: readonly ZoneConfig[] = []
  /** CA certificates by their files, read with the configuration and not with every change of a setting. */
  #authorities: Authorities

  constructor(
    store: StoreReader,
    config: ZoneOptions,
    { rules, demoOrigin }: { rules: RulesetCache; demoOrigin?: string | undefined },
  ) {
    this.#store = store
    this.#rules = rules
    this.#demoOrigin = demoOrigin
    this.#config = config
    this.#all = new AllZones(store)
    this.#authorities = authorities(config)
    for (const stored of store.list(HOSTNAME)) this.#hostname(stored)
    this.current = this.#table()
    this.#unwatch = store.watch((changes) => this.#changed(changes))
  }

  /** Applies the zones of a reloaded configuration. */
  configure(config: ZoneOptions): void {
    const read = authorities(config)
    const old = { config: this.#config, authorities: this.#authorities }
    this.#config = config
    this.#authorities = read
    try {
      this.current = this.#table()
    } catch (error) {
      this.#config = old.config
      this.#authorities = old.authorities
      throw error
    }
  }

  /** Resolves when all changes of rules are in force; undefined if they are. */
  get applied(): Promise<void> | undefined {
    return this.#rules.applied === undefined && this.#replacing === undefined ? undefined : this.#whenApplied()
  }

  async #whenApplied(): Promise<void> {
    // Rules are compiled first, then the zones with them are created, or in the replacement after the one in progress.
    await this.#rules.applied
    await this.#replacing
    await this.#replacing
  }

  close(): void {
    this.#unwatch()
    this.#replacement = undefined
  }

  #changed(changes: readonly Change[]): void {
    for (const change of changes)
      if (change.kind === HOSTNAME.name) this.#hostname(change as Stored<Hostname | undefined>)
    if (changes.some(({ kind }) => kind === ZONES.name)) this.#list()
    this.#rules.changed(changes, (scopes) => this.#refresh(scopes))
    const others = changes.filter(({ kind }) => KINDS.has(kind))
    if (others.length > 0) this.#refresh(others.map(({ scope }) => scope))
  }

  /** Applies zones that were created, changed or deleted through the API. */
  #list(): void {
    const from = this.#config.zones.length
    const old = new Map(this.#listed.slice(from).map((config) => [config.id, config]))
    this.#listed = this.#all.of(this.#config)
    const added: string[] = []
    const removed = new Set(old.keys())
    for (const config of this.#listed.slice(from)) {
      if (old.get(config.id) === config) removed.delete(config.id)
      else added.push(config.id)
    }
    if (added.length + removed.size > MAX_ZONES_PER_TURN) {
      this.current = this.#table()
      return
    }
    // One that was created again in between has a part in it.
    for (const id of added) this.#replacement?.ids.add(id)
    this.current = this.current.without(removed).plus(added.flatMap((id) => this.#zoneOf(id) ?? []))
    this.#balancers.forget([...removed].filter((id) => this.#all.placeOf(id) === undefined))
  }

  /** Applies changed records of these scopes. */
  #refresh(scopes: readonly Scope[]): void {
    const ids = this.#changedZones(scopes)
    const isLarge = ids.size > MAX_ZONES_PER_TURN
    if (this.#replacement) {
      // Few zones are a part of the replacement: both may concern the same zone. Many would defer it again and again.
      const later = isLarge ? this.#replacement.next : this.#replacement.ids
      for (const id of ids) later.add(id)
    } else if (isLarge) this.#replace(ids)
    else this.current = this.current.with([...ids].flatMap((id) => this.#zoneOf(id) ?? []))
  }

  #replace(ids: Set<string>): void {
    this.#replacement = { ids, next: new Set() }
    this.#replacing = this.#replaceInSlices(this.#replacement)
    // The write that waits for it fails.
    this.#replacing.catch(() => undefined)
  }

  /**
   * Creates many zones again, as after a change of the rules of their account, with pauses, and puts them in force
   * together. The previous ones stay in force until then.
   */
  async #replaceInSlices(replacement: Replacement): Promise<void> {
    const { ids, next } = replacement
    const created = new Map<string, Zone>()
    // A table that was built meanwhile has the changes already.
    const isWanted = () => this.#replacement === replacement
    try {
      while (isWanted() && ids.size > 0) {
        let left = MAX_ZONES_PER_TURN
        for (const id of ids) {
          ids.delete(id)
          const zone = this.#zoneOf(id)
          if (zone) created.set(id, zone)
          if (--left === 0) break
        }
        await this.#slices.yieldToEventLoop()
      }
      if (isWanted())
        this.current = this.current.with([...created.values()].filter(({ id }) => this.#all.placeOf(id) !== undefined))
    } finally {
      if (isWanted()) {
        this.#replacement = this.#replacing = undefined
        if (next.size > 0) this.#replace(next)
      }
    }
  }

  /** Returns the ids of the zones that records of these scopes belong to. */
  #changedZones(scopes: readonly Scope[]): Set<string> {
    const accounts = new Set<string>()
    const ids = new Set<string>()
    for (const { type, id } of scopes) {
      if (type === 'account') accounts.add(id)
      else if (type === 'zone' && this.#all.placeOf(id) !== undefined) ids.add(id)
    }
    if (accounts.size > 0) for (const { id, account } of this.#listed) if (accounts.has(account)) ids.add(id)
    return ids
  }

  /** Returns the zone as it is to be now; undefined if it was deleted. */
  #zoneOf(id: string): Zone | undefined {
    const place = this.#all.placeOf(id)
    return place === undefined ? undefined : this.#zone(this.#listed[place]!, place >= this.#config.zones.length)
  }

  #hostname({ scope, id, value }: Stored<Hostname | undefined>): void {
    const key = `${scope.id}/${id}`
    const old = this.#names.get(key)
    if (old !== undefined && old !== value?.hostname) this.#customHostnames.delete(old)
    if (value === undefined) this.#names.delete(key)
    else {
      this.#names.set(key, value.hostname)
      this.#customHostnames.set({
        id,
        hostname: value.hostname,
        zoneId: scope.id,
        metadata: value.custom_metadata ?? {},
        wildcard: value.ssl?.wildcard === true,
        ...(value.custom_origin_server !== undefined && { originServer: value.custom_origin_server }),
        ...(value.custom_origin_sni !== undefined && { originSni: value.custom_origin_sni }),
      })
    }
  }

  #table(): ZoneList {
    this.#replacement = this.#replacing = undefined
    this.#listed = this.#all.of(this.#config)
    const zones = this.#listed.map((config, place) => this.#zone(config, place >= this.#config.zones.length))
    this.#balancers.retain(new Set(this.#listed.map(({ id }) => id)))
    return zoneTable(zones, this.#customHostnames)
  }

  /** The settings of the configuration, replaced by those of the API, whose values the API has checked. */
  #settings({ id: zone, settings }: ZoneConfig): ZoneConfig['settings'] {
    const set = SETTING_IDS.flatMap((id) => {
      const value = this.#store.get(SETTING, zoneScope(zone), id)?.value.value
      return value === undefined ? [] : [[id, value] as const]
    })
    return set.length === 0 ? settings : { ...settings, ...(Object.fromEntries(set) as Partial<typeof settings>) }
  }

  /** `created`: through the API, so what it names passes the egress guard. */
  #zone(config: ZoneConfig, created: boolean): Zone {
    const scope = zoneScope(config.id)
    const ca = this.#authorities.origins.get(config.origin_ca_file ?? '')
    const parts = {
      balancer: this.#balancers.of(config.id, balancerOptions(config, this.#demoOrigin)),
      ...(ca !== undefined && { ca }),
      clientAuthority: this.#authorities.clients.get(config.client_ca_file ?? ''),
      fallbackOrigin: this.#store.get(FALLBACK_ORIGIN, scope, FALLBACK_ORIGIN_ID)?.value.origin,
      ...(created && { hasNamedOrigin: true as const }),
    }
    const settings = this.#settings(config)
    if (this.#store.get(ZONE_STATES, scope, ZONE_STATE_ID)?.value.paused) return pausedZone(config, settings, parts)
    const set = (id: string): Setting | undefined => this.#store.get(SETTING, scope, id)?.value
    const level = set('security_level')?.value
    const chosen = set('edged_custom_hostnames')?.value
    const hostnames = chosen === 'all' || chosen === 'selected' ? chosen : config.custom_hostnames
    const transforms = this.#store.get(MANAGED_TRANSFORMS, scope, TRANSFORM_ID)?.value.enabled
    return zoneOf(
      { ...config, settings, custom_hostnames: hostnames },
      {
        ...parts,
        rules: this.#rules.rulesOf({ id: config.id, accountId: config.account }),
        cache: cacheOptions(set),
        transforms: managedTransforms(transforms ?? []),
        normalization: this.#store.get(URL_NORMALIZATION, scope, TRANSFORM_ID)?.value,
        // Other levels have no effect.
        ...((level === 'off' || level === 'essentially_off') && { settings: { security_level: level } }),
      },
    )
  }
}

/** Returns the cache options that settings of the API change. */
function cacheOptions(set: (id: string) => Setting | undefined): Partial<CacheOptions> {
  const value = (id: string): unknown => set(id)?.value
  const development = set('development_mode')
  const level = value('cache_level')
  const browserTtl = value('browser_cache_ttl')
  return {
    query: level === 'basic' ? 'without' : level === 'simplified' ? 'ignore' : 'key',
    sortQuery: value('sort_query_string_for_cache') === 'on',
    browserTtl: typeof browserTtl === 'number' ? browserTtl : 0,
    developmentUntil: development?.value === 'on' ? Date.parse(development.modified_on) + DEVELOPMENT_MS : 0,
    alwaysOnline: value('always_online') === 'on',
  }
}

const SETTING_IDS = ['content_converter', ...Object.keys(ZoneSettingValues)]

/** Authorities of origins (PEM texts) and of clients, by their files. */
interface Authorities {
  readonly origins: ReadonlyMap<string, string>
  readonly clients: ReadonlyMap<string, ClientAuthority>
}

function authorities({ zones }: ZoneOptions): Authorities {
  const origins = new Set(zones.flatMap(({ origin_ca_file: file }) => file ?? []))
  const clients = new Set(zones.flatMap(({ client_ca_file: file }) => file ?? []))
  return {
    origins: new Map([...origins].map((file) => [file, readFileSync(file, 'utf8')])),
    clients: new Map([...clients].map((file) => [file, loadClientAuthority(file)])),
  }
}
