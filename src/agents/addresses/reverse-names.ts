import type { Clock } from '../../core/clock.js'
import { parseIp } from '../../expr/language/ip.js'

export interface ReverseNamesDeps {
  /** Returns the names of an address (PTR). Rejects if there is none. */
  readonly reverse: (address: string) => Promise<readonly string[]>
  /** Returns the addresses of a name. Rejects if there is none. */
  readonly resolve: (name: string) => Promise<readonly string[]>
  readonly clock: Pick<Clock, 'monotonic'>
}

const MAX_ADDRESSES = 10_000
const MAX_LOOKUPS = 20
const MAX_NAMES = 3
const YES_MS = 24 * 3_600_000
const NO_MS = 3_600_000

interface Answer {
  readonly holds: boolean
  readonly until: number
}

/** Forward-confirmed reverse DNS of clients that say they are an agent. Lookups run beside requests, which never wait. */
export class ReverseNames {
  readonly #deps: ReverseNamesDeps
  /** By address and suffixes, the oldest first. */
  readonly #answers = new Map<string, Answer>()
  readonly #pending = new Map<string, Promise<void>>()

  constructor(deps: ReverseNamesDeps) {
    this.#deps = deps
  }

  /** Returns whether an address is known to have a name with one of the suffixes; looks it up if that is not known. */
  has(address: string, suffixes: readonly string[]): boolean {
    const id = `${address} ${suffixes.join(' ')}`
    const known = this.#answers.get(id)
    if (known !== undefined && this.#deps.clock.monotonic() < known.until) return known.holds
    if (!this.#pending.has(id) && this.#pending.size < MAX_LOOKUPS)
      this.#pending.set(
        id,
        this.#look(address, suffixes).then((holds) => this.#keep(id, holds)),
      )
    return false
  }

  /** Resolves when no lookup is in flight. */
  async settled(): Promise<void> {
    await Promise.all(this.#pending.values())
  }

  #keep(id: string, holds: boolean): void {
    this.#pending.delete(id)
    this.#answers.delete(id)
    if (this.#answers.size >= MAX_ADDRESSES) this.#answers.delete(this.#answers.keys().next().value!)
    this.#answers.set(id, { holds, until: this.#deps.clock.monotonic() + (holds ? YES_MS : NO_MS) })
  }

  /** Never rejects. */
  async #look(address: string, suffixes: readonly string[]): Promise<boolean> {
    try {
      const ip = parseIp(address)
      const names = await this.#deps.reverse(address)
      for (const name of names.slice(0, MAX_NAMES)) {
        if (!suffixes.some((suffix) => isBelow(name, suffix))) continue
        const addresses = await this.#deps.resolve(name).catch(() => [])
        if (ip !== undefined && addresses.some((one) => parseIp(one) === ip)) return true
      }
    } catch {
      // An address without a name.
    }
    return false
  }
}

/** Suffixes begin with a dot, so they match at a label border. */
const isBelow = (name: string, suffix: string): boolean =>
  name.toLowerCase().replace(/\.$/, '').endsWith(suffix.toLowerCase())
