import type { Config } from '../config/schema.js'
import type { Balancer } from '../edge/origins/balancer.js'
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
  readonly memory_bytes: number
  readonly listeners: Partial<DaemonUrls>
  readonly zones: readonly ZoneStatus[]
  readonly pipelines: readonly string[]
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

/** Returns the state of a zone's origins. `now` is on the clock's `monotonic` scale. */
export const originStatus = ({ peers }: Balancer, now: number): OriginStatus[] =>
  peers.map((peer) => ({
    url: peer.url,
    up: peer.isUp(now),
    backup: peer.options.backup,
    weight: peer.options.weight,
    requests_in_flight: peer.active,
  }))

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
