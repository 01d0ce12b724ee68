import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** A signed string that proves that this proxy issued it to one client, with its expiry. */
export interface Ticket {
  /** 22 characters, unique per ticket. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly expires: number
}

const FORM = /^1\.([0-9a-z]{1,11})\.([\w-]{22})\.([\w-]{43})$/

/**
 * Signs tickets for one purpose with HMAC-SHA256:
 *
 *     1.mi7g3zk0.R9cK4b4q0k3o7u0mJ8m3Vw.<signature in base64url>
 *       ^ expiry  ^ id
 *
 * The signature also covers the value that a ticket is bound to. The ticket does not contain this value.
 */
export class Tickets {
  readonly #purpose: string
  readonly #keys: () => readonly Buffer[]

  /** The first key signs. Each key is valid. */
  constructor(purpose: string, keys: () => readonly Buffer[]) {
    this.#purpose = purpose
    this.#keys = keys
  }

  /** Creates a ticket, bound to these strings. */
  issue(expires: number, boundTo: readonly string[]): string {
    const id = randomBytes(16).toString('base64url')
    const until = Math.ceil(expires).toString(36)
    return `1.${until}.${id}.${this.#signature(this.#keys()[0]!, until, id, boundTo).toString('base64url')}`
  }

  /** Returns the content of a ticket, or undefined if it is not ours, bound to something else, or expired at `now`. */
  read(text: string, now: number, boundTo: readonly string[]): Ticket | undefined {
    const [, until = '', id = '', signature = ''] = FORM.exec(text) ?? []
    if (id === '') return undefined
    const expires = Number.parseInt(until, 36)
    const given = Buffer.from(signature, 'base64url')
    const genuine = this.#keys().some((key) => timingSafeEqual(given, this.#signature(key, until, id, boundTo)))
    return genuine && expires > now ? { id, expires } : undefined
  }

  #signature(key: Buffer, until: string, id: string, boundTo: readonly string[]): Buffer {
    return createHmac('sha256', key)
      .update(JSON.stringify([this.#purpose, until, id, ...boundTo]))
      .digest()
  }
}
