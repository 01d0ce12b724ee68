import got from 'got'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { RecentNames } from '../recent-names.js'

/** Options of certificates that are ordered at the first handshake. */
export interface OnDemandOptions {
  /** URL that decides about each name; null: every served name is allowed. */
  readonly ask: string | null
  /** Maximum number of orders per hour. */
  readonly per_hour: number
}

const ASK_MS = 10_000
/** Names that are asked about at the same time. */
const MAX_ASKED = 100

/** Asks the configured URL whether a name may have a certificate. A refusal is remembered for as long as `refused` does. */
export class DomainQuestions {
  readonly #clock: Clock
  readonly #refused: RecentNames
  readonly #signal: AbortSignal
  #asked = 0

  constructor(clock: Clock, refused: RecentNames, signal: AbortSignal) {
    this.#clock = clock
    this.#refused = refused
    this.#signal = signal
  }

  /** Sends `GET ASK?domain=NAME` and returns why the name is refused, or undefined after status 200. Follows no redirect. */
  async refusal(name: string, { ask }: OnDemandOptions): Promise<string | undefined> {
    if (ask === null) return undefined
    const { host } = new URL(ask)
    const refused = `${host} does not allow it`
    if (this.#refused.has(name, this.#clock.monotonic())) return refused
    if (this.#asked >= MAX_ASKED) return `${MAX_ASKED} other names are being asked about at ${host}`
    this.#asked++
    try {
      const url = new URL(ask)
      url.searchParams.set('domain', name)
      const { statusCode } = await got(url, {
        throwHttpErrors: false,
        followRedirect: false,
        retry: { limit: 0 },
        timeout: { request: ASK_MS },
        headers: { 'user-agent': 'edged' },
        signal: this.#signal,
      })
      if (statusCode === 200) return undefined
      this.#refused.add(name, this.#clock.monotonic())
      return `${refused} (status ${statusCode})`
    } catch (error) {
      return `${host} cannot be asked: ${messageOf(error)}`
    } finally {
      this.#asked--
    }
  }
}
