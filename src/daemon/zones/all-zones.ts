import type { Config, ZoneConfig } from '../../config/schema.js'
import { storedZoneConfig } from '../../config/stored-zone.js'
import { ZONES } from '../../core/model/zone.js'
import type { StoreReader } from '../../core/store.js'

/** The options that decide which zones there are. */
export type ZoneOptions = Pick<Config, 'accounts' | 'zones'>

/** The zones of the configuration and those created through the API. */
export class AllZones {
  readonly #store: Pick<StoreReader, 'list'>
  #configured: { options: ZoneOptions; accounts: ReadonlySet<string>; places: ReadonlyMap<string, number> } | undefined
  /** Zones created through the API, with the version of their record. */
  #created = new Map<string, { version: number; zone: ZoneConfig }>()
  #cached:
    | {
        options: ZoneOptions
        stored: readonly unknown[]
        zones: readonly ZoneConfig[]
        /** Places of those that are not of the configuration. */
        created: ReadonlyMap<string, number>
      }
    | undefined

  /** `known`: zones of the API that are also in the others are the same objects. */
  constructor(store: Pick<StoreReader, 'list'>, known?: AllZones) {
    this.#store = store
    if (known) this.#created = known.#created
  }

  /**
   * Returns all zones. The zones of the configuration are first, so they win if two zones have the same host name. A
   * zone whose account is not configured is left out. Returns the same list as long as nothing changed.
   */
  of(options: ZoneOptions): readonly ZoneConfig[] {
    const stored = this.#store.list(ZONES)
    const cached = this.#cached
    // An unchanged list of the store is the same object, unless it is empty.
    if (cached?.options === options && (cached.stored === stored || cached.stored.length + stored.length === 0))
      return cached.zones
    if (this.#configured?.options !== options)
      this.#configured = {
        options,
        accounts: new Set(options.accounts.map(({ id }) => id)),
        places: new Map(options.zones.map(({ id }, place) => [id, place])),
      }
    const { accounts, places } = this.#configured
    const listed = stored.filter(({ id, value }) => accounts.has(value.account) && !places.has(id))
    const known = this.#created
    this.#created = new Map(
      listed.map(({ id, version, value }) => {
        const old = known.get(id)
        return [id, old?.version === version ? old : { version, zone: storedZoneConfig(value) }]
      }),
    )
    const created = [...this.#created.values()].map(({ zone }) => zone)
    const zones = created.length === 0 ? options.zones : [...options.zones, ...created]
    const from = options.zones.length
    this.#cached = { options, stored, zones, created: new Map(created.map(({ id }, at) => [id, from + at])) }
    return zones
  }

  /** Returns the place of a zone in the list that `of` returned last. */
  placeOf(zone: string): number | undefined {
    return this.#cached?.created.get(zone) ?? (this.#cached && this.#configured?.places.get(zone))
  }

  /** Returns a function with the configuration of `read` that has all zones. */
  in<C extends ZoneOptions>(read: () => C): () => C {
    let last: { config: C; zones: readonly ZoneConfig[]; whole: C } | undefined
    return () => {
      const config = read()
      const zones = this.of(config)
      if (last?.config !== config || last.zones !== zones)
        last = { config, zones, whole: zones === config.zones ? config : { ...config, zones: [...zones] } }
      return last.whole
    }
  }
}
