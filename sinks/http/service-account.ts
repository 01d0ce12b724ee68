import { createPrivateKey, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import { Type } from 'typebox'
import { parser } from '../../src/core/schema.js'
import type { Clock } from '../../src/core/clock.js'
import { SinkError } from '../../src/core/sink.js'
import { publicUrl } from '../../src/egress/public-url.js'
import { reject } from '../params.js'
import type { HttpClient } from './client.js'

/** What is used of the key of a Google service account. */
export interface ServiceAccount {
  readonly email: string
  readonly keyId: string | undefined
  readonly key: KeyObject
  /** Where tokens come from. */
  readonly tokenUrl: URL
}

const parseKey = parser(
  Type.Object({
    client_email: Type.String({ minLength: 1 }),
    private_key: Type.String({ minLength: 1 }),
    private_key_id: Type.Optional(Type.String()),
    token_uri: Type.Optional(Type.String()),
  }),
)

/** Reads `base64:..` or `url:..`, the JSON of a key of a service account. Throws InvalidInput with the pointer "" and a message without the key. */
export function serviceAccount(credentials: string): ServiceAccount {
  const [form, text] = [credentials.split(':', 1)[0], credentials.slice(credentials.indexOf(':') + 1)]
  if (form !== 'base64' && form !== 'url') reject('has credentials that begin with neither base64: nor url:')
  try {
    const json = form === 'base64' ? Buffer.from(text, 'base64').toString('utf8') : text
    const given = parseKey(JSON.parse(json))
    const key = createPrivateKey(given.private_key)
    if (key.asymmetricKeyType !== 'rsa') throw new Error('not RSA')
    const tokenUrl = publicUrl(given.token_uri ?? 'https://oauth2.googleapis.com/token')
    return { email: given.client_email, keyId: given.private_key_id, key, tokenUrl }
  } catch {
    return reject('has credentials that are not a key of a service account')
  }
}

/** Tokens of an account, got when they are needed and kept while they are good. */
export class AccessTokens {
  readonly #account: ServiceAccount
  readonly #scope: string
  readonly #client: HttpClient
  readonly #clock: Clock
  #known: { readonly token: string; readonly until: number } | undefined

  constructor(account: ServiceAccount, scope: string, client: HttpClient, clock: Clock) {
    this.#account = account
    this.#scope = scope
    this.#client = client
    this.#clock = clock
  }

  /** Rejects with a SinkError, or the signal's reason. */
  async current(signal: AbortSignal): Promise<string> {
    if (this.#known === undefined || this.#known.until <= this.#clock.monotonic())
      this.#known = await this.#fetch(signal)
    return this.#known.token
  }

  /** The token is no longer taken. */
  forget(): void {
    this.#known = undefined
  }

  // RFC 7523, 2.1: an assertion that the account signs is exchanged for a token.
  async #fetch(signal: AbortSignal): Promise<{ token: string; until: number }> {
    const { email, keyId, key, tokenUrl } = this.#account
    const seconds = Math.floor(this.#clock.now() / 1000)
    const assertion = await new SignJWT({ scope: this.#scope })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) })
      .setIssuer(email)
      .setAudience(tokenUrl.href)
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + 3600)
      .sign(key)
    const grant = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const asked = this.#clock.monotonic()
    const { text } = await this.#client.post({ url: tokenUrl, headers, body: Buffer.from(String(grant)) }, signal)
    const { access_token: token, expires_in: life } = granted(text)
    if (token === undefined) throw new SinkError('transient', `${tokenUrl.host} responded without a token`)
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
