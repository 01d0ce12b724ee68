import type { Trust } from './client-address.js'

interface AdmissionLimits {
  readonly connections: number
  /** 0: no limit. */
  readonly connections_per_address: number
}

/** Counts the connections, or requests of HTTP/2, that clients hold open, in total and by address. */
export class Admission {
  #total = 0
  readonly #byAddress = new Map<string, number>()

  get total(): number {
    return this.#total
  }

  /** Counts one. Returns false, and counts nothing, if a limit is reached. Addresses of trusted proxies have no limit. */
  take(
    address: string,
    trusted: Trust,
    { connections, connections_per_address: perAddress }: AdmissionLimits,
  ): boolean {
    if (this.#total >= connections || this.#isFull(address, trusted, perAddress)) return false
    this.#add(address)
    return true
  }

  /** Counts one under another address. Returns false, and changes nothing, if that address has reached its limit. */
  move(
    { from, to }: { readonly from: string; readonly to: string },
    trusted: Trust,
    { connections_per_address: perAddress }: AdmissionLimits,
  ): boolean {
    if (this.#isFull(to, trusted, perAddress)) return false
    this.release(from)
    this.#add(to)
    return true
  }

  release(address: string): void {
    this.#total--
    const remaining = (this.#byAddress.get(address) ?? 1) - 1
    if (remaining > 0) this.#byAddress.set(address, remaining)
    else this.#byAddress.delete(address)
  }

  #isFull(address: string, trusted: Trust, limit: number): boolean {
    return limit > 0 && (this.#byAddress.get(address) ?? 0) >= limit && !trusted(address)
  }

  #add(address: string): void {
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1)
    this.#total++
  }
}
