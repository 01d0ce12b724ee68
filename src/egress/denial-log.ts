import { LRUCache } from 'lru-cache'
import type { Log } from '../core/log.js'
import { allowEntry } from '../core/printable.js'

/** A destination is logged again after this time at the earliest. */
const REPEAT_MS = 60_000
/** Maximum number of destinations that are remembered. */
const MAX_DESTINATIONS = 1000

interface Denied {
  readonly address: string | undefined
  /** True if the address leads to a listener of this server, which no option allows. */
  readonly isOwn: boolean
}

/** Logs destinations that are not allowed, with the option that allows them. API users see less. */
export class DenialLog {
  readonly #log: Log
  readonly #logged = new LRUCache<string, true>({ max: MAX_DESTINATIONS, ttl: REPEAT_MS })

  constructor(log: Log) {
    this.#log = log
  }

  /** `address` is the first address of the host that is not allowed. Undefined if the host has none. */
  denied(host: string, port: number, found: Denied): void {
    const { address } = found
    const key = `${host} ${port} ${address ?? ''}`
    if (this.#logged.has(key)) return
    this.#logged.set(key, true)
    this.#log.warn({ event: 'destination_denied', host, port, address }, described(host, port, found))
  }
}

function described(host: string, port: number, { address, isOwn }: Denied): string {
  if (address === undefined) return `${host} has no address; webhooks and log destinations cannot be sent there`
  const found = host === address ? host : `${host} resolves to ${address}, which`
  if (isOwn) return `${found} is not allowed: port ${port} is a listener of this server`
  return `${found} is not allowed; add ${allowEntry(address, port)} to egress.allow_cidrs`
}
