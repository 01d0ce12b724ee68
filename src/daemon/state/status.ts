import type { Config } from '../../config/schema.js'
import type { RunningWork } from './troubles.js'
import type { Peer } from '../../edge/balancing/peer.js'
import { balancersOf, type Zone } from '../../edge/exchange/zones.js'
import type { KeyStatus } from '../../store/secrets/key-rotation.js'
import type { MissingCertificate } from '../../tls/acme/served-names.js'
import type { CertificateStatus } from '../certificates/certificates.js'
import type { ConfigChanges } from '../config/changes.js'
import type { KeptRules } from '../config/kept-rules.js'

/** Base URLs of the listeners. */
export interface DaemonUrls {
  readonly proxy: string
  readonly proxy_tls?: string
  readonly control: string
  readonly admin: string
}

/** What `GET /status` of the admin listener returns and `edged status` shows. */
export interface DaemonStatus extends RunningWork {
  readonly version: string
  readonly node: string
  readonly pid: number
  readonly started_at: string
  readonly uptime_seconds: number
  readonly ready: boolean
  /** Why it is not ready. */
  readonly reasons: readonly string[]
  readonly config_file: string | null
  readonly last_reload: LastReload | null
  readonly store: string
  /** Name of this machine among those with the same store; null without others. */
  readonly machine: string | null
  /** Null before the store is open. */
  readonly secrets: SecretsStatus | null
  readonly memory_bytes: number
  readonly listeners: Partial<DaemonUrls>
  readonly zones: readonly ZoneStatus[]
  /** Certificates of the HTTPS listener, by their expiry. */
  readonly certificates: readonly CertificateStatus[]
  /** Served names and patterns without a certificate. */
  readonly missing_certificates: readonly MissingCertificate[]
  /** Rules that the API stored and that are not in force, because the file has their phase. */
  readonly kept_rules: readonly KeptRules[]
  readonly pipelines: readonly string[]
}

/** Which keys encrypt the secrets of the store. Keys are named by their ids. */
export interface SecretsStatus {
  /** Key that encrypts. */
  readonly key: string
  /** Key that the configuration names for encryption. */
  readonly configured_key: string
  /** Machines that do not name that key first yet. */
  readonly waits_for: readonly string[]
  /** Number of secrets by key. */
  readonly sealed: Readonly<Record<string, number>>
  /** Number of secrets that no configured key opens. */
  readonly unreadable: number
  /** Keys that the configuration names and nothing needs any more. */
  readonly removable_keys: readonly string[]
}

export interface ZoneStatus {
  readonly id: string
  readonly name: string
  readonly hostnames: readonly string[]
  readonly origins: readonly OriginStatus[]
}

/**
 * `unknown`: the origin gets requests, but no request and no health check has had a result yet. `none`: the zone has no
 * origin, and the URL is empty.
 */
export type OriginState = 'up' | 'down' | 'unknown' | 'none'

export interface OriginStatus {
  readonly url: string
  readonly state: OriginState
  /** Null if the state is neither `up` nor `down`. */
  readonly up: boolean | null
  readonly backup: boolean
  readonly weight: number
  readonly requests_in_flight: number
}

/** Returns the state of the secrets as `edged status` shows it. */
export function secretsStatus(status: KeyStatus): SecretsStatus {
  const { key, wanted, waitsFor, byKey, unreadable, complete } = status
  const unused = [...byKey].filter(([id, count]) => id !== key && count === 0).map(([id]) => id)
  return {
    key,
    configured_key: wanted,
    waits_for: waitsFor,
    sealed: Object.fromEntries(byKey),
    unreadable,
    removable_keys: complete && waitsFor.length === 0 ? unused : [],
  }
}

/** The state of an origin as the processes of the proxy see it. */
export interface SeenOrigin {
  readonly up: boolean
  readonly asked: boolean
  readonly requests_in_flight: number
}

/** Returns the state of an origin as status, overview and `edged top` show it. */
export function originState(
  url: string,
  { up, asked }: Omit<SeenOrigin, 'requests_in_flight'>,
): Pick<OriginStatus, 'state' | 'up'> {
  if (url === '') return { state: 'none', up: null }
  if (!up) return { state: 'down', up }
  return asked ? { state: 'up', up } : { state: 'unknown', up: null }
}

/** Returns the state of an origin in words. */
export const stateText = (state: OriginState): string => (state === 'unknown' ? 'unknown (not asked yet)' : state)

/** Key of the origin of a zone, by the name of the zone and the URL of the origin. */
export const originKey = (zone: string, url: string): string => `${zone} ${url}`

/**
 * Yields the zones and the state of their origins. `now` is on the clock's `monotonic` scale. `seen`: what other
 * processes know of the origins, by {@link originKey}; undefined if this process serves the zones.
 */
export function* zoneStatus(
  zones: readonly Zone[],
  now: number,
  seen: ((key: string) => SeenOrigin | undefined) | undefined,
): Generator<ZoneStatus> {
  for (const zone of zones) {
    const { id, name, hostnames } = zone
    yield {
      id,
      name,
      hostnames,
      origins: originsOf(zone).map((peer) => {
        const { url, active, isAsked: asked, options } = peer
        const found = seen?.(originKey(name, url)) ?? { up: peer.isUp(now), asked, requests_in_flight: active }
        return {
          url,
          ...originState(url, found),
          backup: options.backup,
          weight: options.weight,
          requests_in_flight: found.requests_in_flight,
        }
      }),
    }
  }
}

/** Returns the origins of a zone and of its paths. A zone without an origin has an empty one. */
function originsOf(zone: Zone): readonly Peer[] {
  const peers = balancersOf(zone).flatMap((balancer) => balancer.peers)
  const named = peers.filter(({ url }) => url !== '')
  return named.length > 0 ? named : peers
}

/** Outcome of the last reload of the configuration file. */
export interface LastReload {
  readonly at: string
  readonly error: string | null
}

/** What `POST /reload` of the admin listener returns: the changes, or why the file was not applied. */
export type ReloadResponse =
  | {
      readonly changed: ConfigChanges['changed']
      readonly restart_needed: ConfigChanges['restartNeeded']
      readonly kept_rules?: readonly KeptRules[]
    }
  | { readonly error: string }

/** Returns the type of the store without its address, which may contain a password. */
export const storeType = ({ store }: Config): string => store.replace(/:.*$/s, '')
