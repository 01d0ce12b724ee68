import type { Trust } from './client-address.js'

interface AdmissionLimits {
  readonly connections: number
  /** 0: no limit. */
  readonly connections_per_address: number
}

/** Counts what clients hold open, in total and by address: connections, or requests of HTTP/2. */
export class Admission {
  #total = 0
  readonly #byAddress = new Map<string, number>()

  get total(): number {
    return this.#total
  }

  /** Counts one. Returns false, and counts nothing, if a limit is reached; addresses of trusted proxies have none. */
  take(
    address: string,
    trusted: Trust,
    { connections, connections_per_address: perAddress }: AdmissionLimits,
  ): boolean {
    const present = this.#byAddress.get(address) ?? 0
    if (this.#total >= connections || (perAddress > 0 && present >= perAddress && !trusted(address))) return false
    this.#byAddress.set(address, present + 1)
    this.#total++
    return true
  }

  release(address: string): void {
    this.#total--
    const remaining = (this.#byAddress.get(address) ?? 1) - 1
    if (remaining > 0) this.#byAddress.set(address, remaining)
    else this.#byAddress.delete(address)
  }
}
