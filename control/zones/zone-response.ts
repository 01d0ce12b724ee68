import type { ZoneConfig } from '../../src/config/schema.js'
import { SETTING } from '../../src/core/model/setting.js'
import { ZONE_STATE_ID, ZONE_STATES, ZONES } from '../../src/core/model/zone.js'
import { account, zone as zoneScope } from '../../src/core/scope.js'
import { mayUse } from '../http/auth/access.js'
import { configIndex } from '../http/auth/config-index.js'
import { sourceOf } from '../resources/file-source.js'
import { PERMISSIONS } from '../http/permissions.js'
import { type Caller, UNKNOWN_TIME, type ControlDeps } from '../http/context.js'
import type { ZoneResult } from './zone-schemas.js'

/** Development mode ends after three hours. */
const DEVELOPMENT_SECONDS = 3 * 3600

/** Returns functions of what lists of zones filter and sort by. */
export function zoneFacts({ config, store }: Pick<ControlDeps, 'config' | 'store'>) {
  const stored = ({ id, account: accountId }: ZoneConfig) => store.get(ZONES, account(accountId), id)?.value
  return {
    stored,
    statusOf: (zone: ZoneConfig): ZoneResult['status'] => {
      const found = stored(zone)
      return found && found.origin === undefined ? 'pending' : 'active'
    },
    typeOf: ({ id }: ZoneConfig): ZoneResult['type'] =>
      store.get(ZONE_STATES, zoneScope(id), ZONE_STATE_ID)?.value.type ?? 'full',
    accountName: (zone: ZoneConfig): string => configIndex(config()).accounts.get(zone.account)?.name ?? '',
  }
}

/** Returns a function that returns a zone as the API shows it to a caller. */
export function zoneResponse(deps: Pick<ControlDeps, 'config' | 'store' | 'clock'>) {
  const { store, clock } = deps
  const facts = zoneFacts(deps)
  return (zone: ZoneConfig, caller: Caller): ZoneResult => {
    const { id, name, plan } = zone
    const scope = zoneScope(id)
    const stored = facts.stored(zone)
    const state = store.get(ZONE_STATES, scope, ZONE_STATE_ID)?.value
    const development = store.get(SETTING, scope, 'development_mode')?.value
    const left =
      development?.value === 'on'
        ? DEVELOPMENT_SECONDS - Math.floor((clock.now() - Date.parse(development.modified_on)) / 1000)
        : 0
    const times = [state?.modified_on, stored?.modified_on].filter((time) => time !== undefined)
    return {
      id,
      name,
      status: facts.statusOf(zone),
      paused: state?.paused ?? false,
      type: facts.typeOf(zone),
      development_mode: Math.max(0, left),
      name_servers: [],
      original_name_servers: null,
      original_registrar: null,
      original_dnshost: null,
      created_on: stored?.created_on ?? UNKNOWN_TIME,
      modified_on: times.sort().at(-1) ?? UNKNOWN_TIME,
      activated_on: stored?.origin === undefined ? null : stored.created_on,
      account: { id: zone.account, name: facts.accountName(zone) },
      owner: { id: null, type: 'user', name: null },
      meta: { step: 0, phishing_detected: false },
      plan: {
        id: plan,
        name: `${plan[0]?.toUpperCase()}${plan.slice(1)} Website`,
        legacy_id: plan,
        price: 0,
        currency: 'USD',
        frequency: '',
        is_subscribed: true,
        can_subscribe: false,
        legacy_discount: false,
        externally_managed: false,
      },
      permissions: PERMISSIONS.filter((permission) =>
        mayUse(caller, [permission], { account: zone.account, zone: id }),
      ),
      ...(state?.vanity_name_servers && { vanity_name_servers: [...state.vanity_name_servers] }),
      edged_source: stored ? null : sourceOf(deps.config(), `zone/${id}`),
      edged: stored ? { source: 'api', origin: stored.origin ?? null } : { source: 'file' },
    }
  }
}
