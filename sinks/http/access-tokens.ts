import type { Clock } from '../../src/core/clock.js'
import { SinkError } from '../../src/core/sink.js'
import type { HttpClient } from './client.js'

/** A request for a token (OAuth 2.0). */
export interface Grant {
  readonly url: URL
  readonly form: Readonly<Record<string, string>>
}

/** Requests an access token when it is needed, and reuses it until shortly before it expires. */
export class AccessTokens {
  readonly #grant: () => Grant | Promise<Grant>
  readonly #client: HttpClient
  readonly #clock: Clock
  #known: { readonly token: string; readonly until: number } | undefined

  constructor(grant: () => Grant | Promise<Grant>, client: HttpClient, clock: Clock) {
    this.#grant = grant
    this.#client = client
    this.#clock = clock
  }

  /** Returns a valid token. Rejects with a SinkError, or the signal's reason. */
  async current(signal: AbortSignal): Promise<string> {
    if (this.#known === undefined || this.#known.until <= this.#clock.monotonic())
      this.#known = await this.#fetch(signal)
    return this.#known.token
  }

  /** Drops the token after the destination rejected it. */
  forget(): void {
    this.#known = undefined
  }

  async #fetch(signal: AbortSignal): Promise<{ token: string; until: number }> {
    const { url, form } = await this.#grant()
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
    const asked = this.#clock.monotonic()
    const { text } = await this.#client.post(
      { url, headers, body: Buffer.from(String(new URLSearchParams(form))) },
      signal,
    )
    const { access_token: token, expires_in: life } = granted(text)
    if (token === undefined) throw new SinkError('transient', `${url.host} responded without a token`)
    // Used until a minute before it expires, so that it does not expire during a request.
    return { token, until: asked + ((life ?? 3600) - 60) * 1000 }
  }
}

function granted(text: string): { access_token?: string; expires_in?: number } {
  try {
    const { access_token: token, expires_in: life } = (JSON.parse(text) ?? {}) as Record<string, unknown>
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) return {}
    return { access_token: token, ...(typeof life === 'number' && { expires_in: life }) }
  } catch {
    return {}
  }
}
