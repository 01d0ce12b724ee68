import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { isNetwork, networksOf, type Networks } from './networks.js'

export interface AddressListsDeps {
  /** Gets a list through the guarded egress. Rejects without a response with status 200. */
  readonly fetch: (url: URL) => Promise<Buffer>
  readonly clock: Clock
  readonly log: Log
}

/** Limits of one fetch. */
export const LIST_LIMITS = { maxBytes: 1_048_576, timeoutMs: 10_000 } as const

const DAY_MS = 86_400_000
/** After a failure. */
const RETRY_MS = 3_600_000

interface List {
  networks: Networks | undefined
}

/** Lists of addresses that operators of agents publish, read once a day. */
export class AddressLists {
  readonly #deps: AddressListsDeps
  readonly #lists = new Map<string, List>()
  readonly #stop = new AbortController()

  constructor(deps: AddressListsDeps) {
    this.#deps = deps
  }

  /** Follows exactly these lists from now on. */
  follow(urls: Iterable<string>): void {
    const wanted = new Set(urls)
    for (const url of this.#lists.keys()) if (!wanted.has(url)) this.#lists.delete(url)
    for (const url of wanted) {
      if (this.#lists.has(url)) continue
      const list: List = { networks: undefined }
      this.#lists.set(url, list)
      void this.#refresh(url, list)
    }
  }

  /** Returns whether a list that was read has an address. */
  has(url: string, address: string): boolean {
    return this.#lists.get(url)?.networks?.has(address) ?? false
  }

  close(): void {
    this.#stop.abort()
    this.#lists.clear()
  }

  /** Reads a list again and again until it is not followed. Never rejects. */
  async #refresh(url: string, list: List): Promise<void> {
    const { clock } = this.#deps
    while (!this.#stop.signal.aborted && this.#lists.get(url) === list) {
      const isRead = await this.#read(url, list)
      // Jitter: not all lists, processes and machines at once.
      const pause = (isRead ? DAY_MS : RETRY_MS) * (0.9 + Math.random() * 0.2)
      await clock.sleep(pause, this.#stop.signal).catch(() => undefined)
    }
  }

  async #read(url: string, list: List): Promise<boolean> {
    const { fetch, log } = this.#deps
    try {
      const networks = networksOf(addressesIn((await fetch(new URL(url))).toString()))
      const before = list.networks?.size ?? 0
      if (networks.size === 0) throw new Error('has no addresses')
      if (networks.size < before / 2) throw new Error(`has ${networks.size} ranges, and had ${before}`)
      list.networks = networks
      return true
    } catch (error) {
      log.warn({ event: 'agent_addresses_failed', url, reason: messageOf(error) })
      return false
    }
  }
}

/** Returns the networks of a list: JSON with `prefixes`, or one network in each line. */
function addressesIn(text: string): string[] {
  if (!text.trimStart().startsWith('{'))
    return text
      .split('\n')
      .map((line) => line.split('#', 1)[0]!.trim())
      .filter(isNetwork)
  const { prefixes } = JSON.parse(text) as { prefixes?: unknown }
  if (!Array.isArray(prefixes)) return []
  return prefixes.flatMap((prefix: unknown) => {
    const { ipv4Prefix, ipv6Prefix } = Object(prefix) as { ipv4Prefix?: unknown; ipv6Prefix?: unknown }
    return [ipv4Prefix, ipv6Prefix].filter((one): one is string => typeof one === 'string' && isNetwork(one))
  })
}
