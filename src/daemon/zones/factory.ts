import type { ZoneConfig } from '../../config/schema.js'
import { FALLBACK_ORIGIN, FALLBACK_ORIGIN_ID } from '../../core/model/hostname.js'
import { DEVELOPMENT_MS, SETTING, type Setting } from '../../core/model/setting.js'
import { MANAGED_TRANSFORMS, TRANSFORM_ID, URL_NORMALIZATION } from '../../core/model/transforms.js'
import { ZONE_STATE_ID, ZONE_STATES } from '../../core/model/zone.js'
import { ZoneSettingValues } from '../../core/model/zone-settings.js'
import { zone as zoneScope } from '../../core/scope.js'
import type { StoreReader } from '../../core/store.js'
import type { CacheOptions } from '../../edge/cache/entries/types.js'
import { managedTransforms } from '../../edge/exchange/managed-transforms.js'
import { preloadUsers } from '../../edge/auth/users.js'
import type { Balancers } from '../../edge/balancing/balancer.js'
import { balancerOptions, pausedZone, zoneOf, type Zone } from '../../edge/exchange/zones.js'
import type { RulesetCache } from '../../rules/engine/ruleset-cache.js'
import type { Authorities } from './authorities.js'

export interface ZoneFactoryDeps {
  readonly store: StoreReader
  readonly rules: RulesetCache
  readonly balancers: Pick<Balancers, 'of'>
  readonly authorities: Authorities
}

/** Creates zones from their configuration and the records of the store. */
export class ZoneFactory {
  readonly #deps: ZoneFactoryDeps

  constructor(deps: ZoneFactoryDeps) {
    this.#deps = deps
  }

  /** Creates a zone. `created`: the zone was created through the API, so addresses that it names pass the egress guard. */
  create(config: ZoneConfig, created: boolean): Zone {
    const { store, rules, balancers, authorities } = this.#deps
    for (const { auth } of [config, ...config.paths])
      if (auth && auth.basic?.users_file !== undefined) preloadUsers(auth.basic.users_file)
    const scope = zoneScope(config.id)
    const ca = authorities.origins.get(config.origin_ca_file ?? '')
    const parts = {
      balancer: balancers.of(config.id, balancerOptions(config)),
      balancers,
      ...(ca !== undefined && { ca }),
      clientAuthority: authorities.clients.get(config.client_ca_file ?? ''),
      fallbackOrigin: store.get(FALLBACK_ORIGIN, scope, FALLBACK_ORIGIN_ID)?.value.origin,
      ...(created && { hasNamedOrigin: true as const }),
    }
    const settings = this.#settings(config)
    if (store.get(ZONE_STATES, scope, ZONE_STATE_ID)?.value.paused) return pausedZone(config, settings, parts)
    const set = (id: string): Setting | undefined => store.get(SETTING, scope, id)?.value
    const level = set('security_level')?.value
    const chosen = set('edged_custom_hostnames')?.value
    const hostnames = chosen === 'all' || chosen === 'selected' ? chosen : config.custom_hostnames
    const transforms = store.get(MANAGED_TRANSFORMS, scope, TRANSFORM_ID)?.value.enabled
    return zoneOf(
      { ...config, settings, custom_hostnames: hostnames },
      {
        ...parts,
        rules: rules.rulesOf({ id: config.id, accountId: config.account }),
        cache: cacheOptions(set),
        transforms: managedTransforms(transforms ?? []),
        normalization: store.get(URL_NORMALIZATION, scope, TRANSFORM_ID)?.value,
        // Other levels have no effect.
        ...((level === 'off' || level === 'essentially_off') && { settings: { security_level: level } }),
      },
    )
  }

  /** Returns the settings of the configuration, replaced by the settings of the API, whose values the API has checked. */
  #settings({ id: zone, settings }: ZoneConfig): ZoneConfig['settings'] {
    const set = SETTING_IDS.flatMap((id) => {
      const value = this.#deps.store.get(SETTING, zoneScope(zone), id)?.value.value
      return value === undefined ? [] : [[id, value] as const]
    })
    return set.length === 0 ? settings : { ...settings, ...(Object.fromEntries(set) as Partial<typeof settings>) }
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
