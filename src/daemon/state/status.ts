import type { AttentionItem } from '../../../control/overview/services.js'
import type { Config } from '../../config/schema.js'
import type { RunningWork } from './troubles.js'
import type { Clock } from '../../core/clock.js'
import type { Peer, PeerReport } from '../../edge/balancing/peer.js'
import { balancersOf, type Zone } from '../../edge/exchange/zones.js'
import type { BackupStatus } from '../backups/schedule.js'
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
  /** What needs attention, errors first. */
  readonly attention: readonly AttentionItem[]
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
  readonly zones: readonly (ZoneStatus & ZoneDuration)[]
  /** Certificates of the HTTPS listener, by their expiry. */
  readonly certificates: readonly CertificateStatus[]
  /** Served names and patterns without a certificate. */
  readonly missing_certificates: readonly MissingCertificate[]
  /** Rules that the API stored and that are not in force, because the file has their phase. */
  readonly kept_rules: readonly KeptRules[]
  /** Scheduled backups; null if none are configured. */
  readonly backup: BackupStatus | null
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

interface ZoneDuration {
  /** 95th percentile of the durations of requests in the last five minutes; null without requests. */
  readonly p95_ms: number | null
}

export interface ZoneStatus {
  readonly id: string
  readonly name: string
  readonly hostnames: readonly string[]
  readonly origins: readonly OriginStatus[]
}

/**
 * State of an origin by the last results of requests and health checks. `unknown`: there is none yet. `missing`: the zone has no origin, and
 * the URL is empty.
 */
export type OriginState = 'up' | 'down' | 'unknown' | 'missing'

export interface OriginStatus {
  readonly url: string
  readonly state: OriginState
  /** Null if the state is neither `up` nor `down`. */
  readonly up: boolean | null
  /** When it got that state. Null if the state is neither `up` nor `down`. */
  readonly since: string | null
  /** The failure of the last result; null if it was none. */
  readonly last_error: string | null
  /** Time of the last result. */
  readonly checked_at: string | null
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

/** State of an origin as the processes of the proxy see it. */
export interface SeenOrigin {
  readonly state: PeerReport['state']
  /** Milliseconds since 1970. */
  readonly since: number | undefined
  readonly checkedAt: number | undefined
  readonly lastError: string | undefined
  readonly requests_in_flight: number
}

/** Returns the state of an origin as status and overview show it. */
function originState(url: string, seen: SeenOrigin): Omit<OriginStatus, 'url' | 'backup' | 'weight'> {
  const { since, checkedAt, lastError, requests_in_flight } = seen
  const state = url === '' ? 'missing' : seen.state
  return {
    state,
    up: isUp(state),
    since: timeText(since),
    last_error: lastError ?? null,
    checked_at: timeText(checkedAt),
    requests_in_flight,
  }
}

const timeText = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString())

/** Returns the member `up` for a state. */
export const isUp = (state: OriginState): boolean | null => (state === 'up' ? true : state === 'down' ? false : null)

/** Returns the state of an origin in words. */
export const stateText = (state: OriginState): string =>
  state === 'unknown' ? 'unknown (not asked yet)' : state === 'missing' ? 'no origin' : state

/** Key of the origin of a zone, by the name of the zone and the URL of the origin. */
export const originKey = (zone: string, url: string): string => `${zone} ${url}`

/**
 * Yields the zones and the state of their origins. `seen`: what other
 * processes know of the origins, by {@link originKey}; undefined if this process serves the zones.
 */
export function* zoneStatus(
  zones: readonly Zone[],
  clock: Pick<Clock, 'now' | 'monotonic'>,
  seen: ((key: string) => SeenOrigin | undefined) | undefined,
): Generator<ZoneStatus> {
  for (const zone of zones) {
    const { id, name, hostnames } = zone
    yield {
      id,
      name,
      hostnames,
      origins: originsOf(zone).map((peer) => {
        const { url, options } = peer
        const found = seen?.(originKey(name, url)) ?? seenHere(peer, clock)
        return { url, ...originState(url, found), backup: options.backup, weight: options.weight }
      }),
    }
  }
}

function seenHere({ report, active }: Peer, clock: Pick<Clock, 'now' | 'monotonic'>): SeenOrigin {
  const { state, since, checkedAt, lastError } = report
  const offset = clock.now() - clock.monotonic()
  const time = (at: number | undefined) => (at === undefined ? undefined : at + offset)
  return { state, since: time(since), checkedAt: time(checkedAt), lastError, requests_in_flight: active }
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
