import type { Config } from '../config/schema.js'
import type { Zone } from '../edge/zones.js'
import type { KeyStatus } from '../store/key-rotation.js'
import type { ConfigChanges } from './config-changes.js'

/** Base URLs of the listeners. */
export interface DaemonUrls {
  readonly proxy: string
  readonly proxy_tls?: string
  readonly control: string
  readonly admin: string
}

/** What `GET /status` of the admin listener returns and `edged status` shows. */
export interface DaemonStatus {
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

export interface OriginStatus {
  readonly url: string
  readonly up: boolean
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

/** What the processes of the proxy know of an origin. */
export type SeenOrigin = Pick<OriginStatus, 'up' | 'requests_in_flight'>

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
  for (const { id, name, hostnames, balancer } of zones)
    yield {
      id,
      name,
      hostnames,
      origins: balancer.peers.map((peer) => ({
        url: peer.url,
        backup: peer.options.backup,
        weight: peer.options.weight,
        ...(seen?.(originKey(name, peer.url)) ?? { up: peer.isUp(now), requests_in_flight: peer.active }),
      })),
    }
}

/** Outcome of the last reload of the configuration file. */
export interface LastReload {
  readonly at: string
  readonly error: string | null
}

/** What `POST /reload` of the admin listener returns: the changes, or why the file was not applied. */
export type ReloadResponse =
  | { readonly changed: ConfigChanges['changed']; readonly restart_needed: ConfigChanges['restartNeeded'] }
  | { readonly error: string }

/** Returns the type of the store without its address, which may contain a password. */
export const storeType = ({ store }: Config): string => store.replace(/:.*$/s, '')
