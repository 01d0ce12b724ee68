import { FALLBACK_ORIGIN, HOSTNAME, type Hostname } from '../../core/model/hostname.js'
import { SETTING } from '../../core/model/setting.js'
import { MANAGED_TRANSFORMS, URL_NORMALIZATION } from '../../core/model/transforms.js'
import { ZONE_STATES, ZONES } from '../../core/model/zone.js'
import { EventLoopYield, type Pause } from '../../core/schedule/event-loop-yield.js'
import type { Scope } from '../../core/scope.js'
import type { Change, StoreReader, Stored } from '../../core/store.js'
import { Balancers } from '../../edge/balancing/balancer.js'
import { CustomHostnames, type Zone, type Zones, type ZoneList } from '../../edge/exchange/zones.js'
import type { RulesetCache } from '../../rules/engine/ruleset-cache.js'
import type { ZoneOptions } from './all-zones.js'
import { readAuthorities, readAuthoritiesAgain, type Authorities } from './authorities.js'
import { ConfiguredZones, MAX_ZONES_PER_TURN, type ConfiguredZonesDeps } from './configured-zones.js'

/** A change of many zones that is not in force yet. */
interface Replacement {
  /** Ids of the zones that have still to be created. */
  readonly ids: Set<string>
  /** Ids of the zones of the replacement after it. */
  readonly next: Set<string>
}

/** Zones of a configuration that is not in force yet. */
export interface PreparedZones {
  /** Puts them in force, with all changes of the store. */
  use(): Promise<void>
  /** Forgets them. */
  drop(): void
}

/** Rules of a configuration that is not in force yet. */
export interface NextRules {
  readonly cache: RulesetCache
  /** Accounts and zones whose rules differ from those in force. */
  readonly scopes: readonly Scope[]
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
  readonly #store: StoreReader
  #rules: RulesetCache
  /** Rules of a configuration that is not in force yet. */
  #nextRules: RulesetCache | undefined
  readonly #customHostnames = new CustomHostnames()
  /** Names of custom hostnames by scope and id, to find the name of a removed record. */
  readonly #names = new Map<string, string>()
  readonly #balancers = new Balancers()
  readonly #unwatch: () => void
  readonly #pause: Pause
  #replacement: Replacement | undefined
  /** Resolves when {@link #replacement} is in force. */
  #replacing: Promise<void> | undefined
  #authorities: Authorities
  #active: ConfiguredZones
  /** Zones of a configuration that is not in force yet. */
  #next: ConfiguredZones | undefined

  constructor(store: StoreReader, config: ZoneOptions, { rules, pause }: { rules: RulesetCache; pause?: Pause }) {
    const slices = new EventLoopYield()
    this.#store = store
    this.#rules = rules
    this.#pause = pause ?? (() => slices.yieldToEventLoop())
    this.#authorities = readAuthorities(config.zones)
    for (const stored of store.list(HOSTNAME)) this.#hostname(stored)
    this.#active = ConfiguredZones.now(config, this.#deps(this.#authorities, this.#balancers))
    this.#unwatch = store.watch((changes) => this.#changed(changes))
  }

  get current(): ZoneList {
    return this.#active.table
  }

  /**
   * Creates the zones of a reloaded configuration with pauses; those in force stay, and follow changes of the store. A zone whose
   * options are the same object as before is not created again. `rules`: other rules than those in force, with the scopes in
   * which they differ.
   */
  async prepare(config: ZoneOptions, rules?: NextRules): Promise<PreparedZones> {
    this.#nextRules = rules?.cache
    const authorities = await readAuthoritiesAgain(config.zones, this.#authorities, this.#pause)
    const balancers = this.#balancers.next()
    const deps = { ...this.#deps(authorities, balancers), rules: rules?.cache ?? this.#rules }
    const next = ConfiguredZones.later(config, deps, this.#active)
    this.#next = next
    const drop = (): void => {
      if (this.#next !== next) return
      this.#next = undefined
      this.#nextRules = undefined
    }
    try {
      await rules?.cache.compile(config.zones.map(({ id, account }) => ({ id, accountId: account })))
      // Zones that are being replaced do not have all changes of the store.
      await next.create(this.#active, { reuse: this.#replacement === undefined, pause: this.#pause })
    } catch (error) {
      drop()
      throw error
    }
    // Zones whose options did not change have the previous rules.
    if (rules) next.outdate(rules.scopes)
    const use = async (): Promise<void> => {
      // Nothing can change between the last update and the switch.
      while (!next.update()) await this.#pause()
      this.#replacement = this.#replacing = this.#next = this.#nextRules = undefined
      if (rules) this.#rules = rules.cache
      balancers.use()
      // Those of paths have the id of the zone and the path.
      this.#balancers.retain((id) => next.has(id.split(' ', 1)[0] ?? ''))
      this.#authorities = authorities
      this.#active = next
    }
    return { use, drop }
  }

  /** Resolves when all changes of rules are in force. Returns undefined if they are. */
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

  #deps(authorities: Authorities, balancers: Pick<Balancers, 'of'>): ConfiguredZonesDeps {
    return {
      store: this.#store,
      rules: this.#rules,
      customHostnames: this.#customHostnames,
      authorities,
      balancers,
    }
  }

  #changed(changes: readonly Change[]): void {
    for (const change of changes)
      if (change.kind === HOSTNAME.name) this.#hostname(change as Stored<Hostname | undefined>)
    if (changes.some(({ kind }) => kind === ZONES.name)) this.#list()
    this.#rules.changed(changes, (scopes) => this.#refresh(scopes))
    this.#nextRules?.changed(changes, (scopes) => this.#next?.outdate(scopes))
    const others = changes.filter(({ kind }) => KINDS.has(kind))
    if (others.length > 0) this.#refresh(others.map(({ scope }) => scope))
  }

  /** Applies zones that were created, changed or deleted through the API. */
  #list(): void {
    this.#next?.outdate([], { list: true })
    const { added, removed } = this.#active.list()
    // One that was created again in between has a part in it.
    for (const id of added) this.#replacement?.ids.add(id)
    this.#balancers.forget(removed.filter((id) => !this.#active.has(id)))
  }

  /** Applies changed records of these scopes. */
  #refresh(scopes: readonly Scope[]): void {
    this.#next?.outdate(scopes)
    const ids = this.#active.changedBy(scopes)
    const isLarge = ids.size > MAX_ZONES_PER_TURN
    if (this.#replacement) {
      // Few zones are a part of the replacement: both may concern the same zone. Many would defer it again and again.
      const later = isLarge ? this.#replacement.next : this.#replacement.ids
      for (const id of ids) later.add(id)
    } else if (isLarge) this.#replace(ids)
    else this.#active.replace([...ids].flatMap((id) => this.#active.zoneOf(id) ?? []))
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
    // A configuration that was put in force meanwhile has the changes already.
    const isWanted = () => this.#replacement === replacement
    try {
      while (isWanted() && ids.size > 0) {
        let left = MAX_ZONES_PER_TURN
        for (const id of ids) {
          ids.delete(id)
          const zone = this.#active.zoneOf(id)
          if (zone) created.set(id, zone)
          if (--left === 0) break
        }
        await this.#pause()
      }
      if (isWanted()) this.#active.replace([...created.values()])
    } finally {
      if (isWanted()) {
        this.#replacement = this.#replacing = undefined
        if (next.size > 0) this.#replace(next)
      }
    }
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
}
