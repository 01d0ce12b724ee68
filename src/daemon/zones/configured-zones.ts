import type { ZoneConfig } from '../../config/schema.js'
import type { Pause } from '../../core/schedule/event-loop-yield.js'
import type { Scope } from '../../core/scope.js'
import { zoneTable, type CustomHostnames, type Zone, type ZoneList } from '../../edge/exchange/zones.js'
import { AllZones, type ZoneOptions } from './all-zones.js'
import { ZoneFactory, type ZoneFactoryDeps } from './factory.js'

/** Zones that are created again in one turn of the event loop, at about 20 us each. */
export const MAX_ZONES_PER_TURN = 50

export interface ConfiguredZonesDeps extends ZoneFactoryDeps {
  readonly customHostnames: CustomHostnames
}

/** The zones of one configuration, with the zones of the API, as a table that follows changes of the store. */
export class ConfiguredZones {
  table: ZoneList
  readonly options: ZoneOptions
  readonly #deps: ConfiguredZonesDeps
  readonly #factory: ZoneFactory
  readonly #all: AllZones
  /** The zones of the table. */
  #listed: readonly ZoneConfig[] = []
  /** Changed or deleted since they were created, in a table that is not complete. */
  readonly #outdated = new Set<string>()
  #isListOutdated = false

  private constructor(options: ZoneOptions, deps: ConfiguredZonesDeps, previous?: ConfiguredZones) {
    this.options = options
    this.#deps = deps
    this.#factory = new ZoneFactory(deps)
    this.#all = new AllZones(deps.store, previous && previous.#all)
    this.table = zoneTable([], deps.customHostnames)
  }

  /** Creates all zones. */
  static now(options: ZoneOptions, deps: ConfiguredZonesDeps): ConfiguredZones {
    const zones = new ConfiguredZones(options, deps)
    zones.#listed = zones.#all.of(options)
    zones.table = zones.table.plus(zones.#listed.map((config, place) => zones.#create(config, place)))
    return zones
  }

  /** Returns a table that `create` fills. */
  static later(options: ZoneOptions, deps: ConfiguredZonesDeps, previous: ConfiguredZones): ConfiguredZones {
    return new ConfiguredZones(options, deps, previous)
  }

  /**
   * Creates all zones, with pauses. Changes of the store in between must be passed to `outdate`. With `reuse`, a zone
   * is taken from `previous` if its options are the same object there. This is correct because such a zone has all
   * changes of the store.
   */
  async create(previous: ConfiguredZones, { reuse, pause }: { reuse: boolean; pause: Pause }): Promise<void> {
    this.#listed = this.#all.of(this.options)
    let slice: Zone[] = []
    for (const [place, config] of this.#listed.entries()) {
      slice.push((reuse ? this.#unchanged(previous, config) : undefined) ?? this.#create(config, place))
      if (slice.length < MAX_ZONES_PER_TURN) continue
      this.table = this.table.plus(slice)
      slice = []
      await pause()
    }
    this.table = this.table.plus(slice)
  }

  /** Notes a change of the store that `update` applies. */
  outdate(scopes: readonly Scope[], { list = false } = {}): void {
    this.#isListOutdated ||= list
    for (const id of this.changedBy(scopes)) this.#outdated.add(id)
  }

  /** Applies some noted changes. Returns whether the table now has all changes. */
  update(): boolean {
    if (this.#isListOutdated) this.list()
    this.#isListOutdated = false
    const ids = [...this.#outdated].slice(0, MAX_ZONES_PER_TURN)
    for (const id of ids) this.#outdated.delete(id)
    this.replace(ids.flatMap((id) => this.zoneOf(id) ?? []))
    return this.#outdated.size === 0
  }

  /** Applies zones that were created, changed or deleted through the API. Returns their ids. */
  list(): { readonly added: readonly string[]; readonly removed: readonly string[] } {
    const from = this.options.zones.length
    const old = new Map(this.#listed.slice(from).map((config) => [config.id, config]))
    this.#listed = this.#all.of(this.options)
    const added: string[] = []
    const removed = new Set(old.keys())
    for (const config of this.#listed.slice(from)) {
      if (old.get(config.id) === config) removed.delete(config.id)
      else added.push(config.id)
    }
    this.table = this.table.without(removed).plus(added.flatMap((id) => this.zoneOf(id) ?? []))
    return { added, removed: [...removed] }
  }

  /** Puts zones in force that were created again; those that were deleted are left out. */
  replace(zones: readonly Zone[]): void {
    this.table = this.table.with(zones.filter(({ id }) => this.has(id) && this.table.get(id) !== undefined))
  }

  has(id: string): boolean {
    return this.#all.placeOf(id) !== undefined
  }

  /** Returns a zone, created again, or undefined if it was deleted. */
  zoneOf(id: string): Zone | undefined {
    const place = this.#all.placeOf(id)
    return place === undefined ? undefined : this.#create(this.#listed[place]!, place)
  }

  /** Returns the ids of the zones that records of these scopes belong to. */
  changedBy(scopes: readonly Scope[]): Set<string> {
    const accounts = new Set<string>()
    const ids = new Set<string>()
    for (const { type, id } of scopes) {
      if (type === 'account') accounts.add(id)
      else if (type === 'zone' && this.has(id)) ids.add(id)
    }
    if (accounts.size > 0) for (const { id, account } of this.#listed) if (accounts.has(account)) ids.add(id)
    return ids
  }

  #create(config: ZoneConfig, place: number): Zone {
    return this.#factory.create(config, place >= this.options.zones.length)
  }

  /** Returns the previous zone if it would be the same: its options are the same object, and its files have the same contents. */
  #unchanged(previous: ConfiguredZones, config: ZoneConfig): Zone | undefined {
    const place = previous.#all.placeOf(config.id)
    if (place === undefined || previous.#listed[place] !== config) return undefined
    const { authorities: old } = previous.#deps
    const { authorities } = this.#deps
    const { origin_ca_file: origin = '', client_ca_file: client = '' } = config
    if (authorities.origins.get(origin) !== old.origins.get(origin)) return undefined
    if (authorities.clients.get(client) !== old.clients.get(client)) return undefined
    return previous.table.get(config.id)
  }
}
