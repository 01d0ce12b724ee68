import { readFileSync } from 'node:fs'
import { calculateJwkThumbprint, FlattenedSign, importJWK, type CryptoKey, type JWK } from 'jose'
import got, { type Got, type Response } from 'got'
import { Type, type Static, type TSchema } from 'typebox'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import { issuesOf } from '../../core/schema.js'

/** Time for one request to the authority. */
const REQUEST_MS = 30_000
/** A nonce may be rejected at any time. The rejection has a new nonce (RFC 8555, 6.5). */
const MAX_NONCE_ATTEMPTS = 8
const POLL_MS = 1000
const MAX_POLL_STEP_MS = 10_000
const MAX_POLL_MS = 120_000
const MAX_RETRY_AFTER_MS = 86_400_000

const Text = Type.String({ minLength: 1 })
const Directory = Type.Object({ newNonce: Text, newAccount: Text, newOrder: Text })
const Order = Type.Object({
  status: Text,
  authorizations: Type.Array(Text),
  finalize: Text,
  certificate: Type.Optional(Text),
  error: Type.Optional(Type.Object({ detail: Type.Optional(Type.String()) })),
})
const Challenge = Type.Object({
  type: Text,
  url: Text,
  status: Type.Optional(Text),
  token: Type.Optional(Text),
  error: Type.Optional(Type.Object({ detail: Type.Optional(Type.String()) })),
})
const Authorization = Type.Object({ status: Text, challenges: Type.Array(Challenge) })
const Problem = Type.Object({ type: Type.Optional(Type.String()), detail: Type.Optional(Type.String()) })

export type Challenge = Static<typeof Challenge>

/** Returns the function that reads a resource from a response. It throws if the body has another form. */
function reader<S extends TSchema>(schema: S): (response: Response<string>) => Static<S> {
  const issues = issuesOf(schema)
  return ({ statusCode, body }) => {
    let value: unknown
    try {
      value = JSON.parse(body)
    } catch {
      value = undefined
    }
    if (statusCode >= 400 || issues(value).length > 0)
      throw new AcmeError(`the authority returned ${statusCode} with a body that is not an ACME resource`)
    return value as Static<S>
  }
}

const readDirectory = reader(Directory)
const readOrder = reader(Order)
const readAuthorization = reader(Authorization)
const problemIssues = issuesOf(Problem)

/** A certificate authority, as configured. */
export interface Authority {
  readonly directory: string
  readonly email: string | undefined
  /** File with the roots of the directory's own certificate. */
  readonly caFile: string | undefined
  readonly eab: { readonly key_id: string; readonly hmac_key: string } | undefined
}

/** Key of an account, with its private JWK and the thumbprint of that (RFC 7638). */
interface AccountKey {
  readonly key: CryptoKey
  readonly jwk: JWK
  readonly thumbprint: string
}

/**
 * The authority or the connection to it rejected an order. `retryAfter` is the number of milliseconds that the
 * authority asks to wait.
 */
export class AcmeError extends Error {
  override readonly name = 'AcmeError'
  readonly type: string
  readonly retryAfter: number | undefined

  constructor(message: string, { type = '', retryAfter }: { type?: string; retryAfter?: number | undefined } = {}) {
    super(message)
    this.type = type
    this.retryAfter = retryAfter
  }
}

/** Proof of control over one name. `undo` removes the published data. */
export interface Proof {
  publish(challenge: Challenge, authorization: string): Promise<void>
  undo(): Promise<void>
}

/** One account at one authority (RFC 8555). Requests are signed with ES256. */
export class AcmeClient {
  readonly #authority: Authority
  readonly #key: CryptoKey
  readonly #jwk: JWK
  readonly #thumbprint: string
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #http: Got
  readonly #nonces: string[] = []
  #directory: Static<typeof Directory> | undefined
  /** URL of the account. */
  account: string | undefined

  private constructor(authority: Authority, { key, jwk, thumbprint }: AccountKey, clock: Clock, signal: AbortSignal) {
    this.#authority = authority
    this.#key = key
    const { kty, crv, x, y } = jwk
    this.#jwk = { kty, crv, x, y } as JWK
    this.#thumbprint = thumbprint
    this.#clock = clock
    this.#signal = signal
    const ca = authority.caFile
    this.#http = got.extend({
      throwHttpErrors: false,
      followRedirect: false,
      retry: { limit: 0 },
      timeout: { request: REQUEST_MS },
      headers: { 'user-agent': 'edged' },
      signal,
      ...(ca !== undefined && { https: { certificateAuthority: readFileSync(ca) } }),
    })
  }

  /** Creates the client of an account from the private JWK of its key. `signal` ends its requests and waits. */
  static async open(authority: Authority, jwk: JWK, clock: Clock, signal: AbortSignal): Promise<AcmeClient> {
    const key = (await importJWK(jwk, 'ES256')) as CryptoKey
    return new AcmeClient(authority, { key, jwk, thumbprint: await calculateJwkThumbprint(jwk) }, clock, signal)
  }

  /** Creates the account, or finds the one that the key has already, and returns its URL (RFC 8555, 7.3). */
  async register(): Promise<string> {
    const { email, eab } = this.#authority
    const { newAccount } = await this.#urls()
    const payload = {
      termsOfServiceAgreed: true,
      ...(email !== undefined && { contact: [`mailto:${email}`] }),
      ...(eab && { externalAccountBinding: await this.#binding(newAccount, eab) }),
    }
    const { headers } = await this.#post(newAccount, payload)
    const url = headers.location
    if (url === undefined) throw new AcmeError('the authority returned no account URL')
    this.account = url
    return url
  }

  /**
   * Orders a certificate for one name and returns its chain. `choose` picks a challenge from the offered ones, and
   * `csr` is the request in DER.
   */
  async order(
    name: string,
    { choose, proof, csr }: { choose: (offered: readonly Challenge[]) => Challenge; proof: Proof; csr: Buffer },
  ): Promise<string> {
    const { newOrder } = await this.#urls()
    const created = await this.#post(newOrder, { identifiers: [{ type: 'dns', value: name }] })
    const url = created.headers.location
    if (url === undefined) throw new AcmeError('the authority returned no order URL')
    const order = readOrder(created)
    for (const authorization of order.authorizations) await this.#authorize(authorization, choose, proof)
    await this.#post(order.finalize, { csr: csr.toString('base64url') })
    const { certificate } = await this.#settled(url, readOrder)
    if (certificate === undefined) throw new AcmeError('the authority returned no certificate URL')
    return (await this.#post(certificate, undefined)).body
  }

  async #authorize(url: string, choose: (offered: readonly Challenge[]) => Challenge, proof: Proof): Promise<void> {
    const { status, challenges } = readAuthorization(await this.#post(url, undefined))
    if (status === 'valid') return
    const challenge = choose(challenges)
    try {
      await proof.publish(challenge, `${challenge.token ?? ''}.${this.#thumbprint}`)
      await this.#post(challenge.url, {})
      await this.#settled(url, readAuthorization)
    } finally {
      await proof.undo()
    }
  }

  /** Polls a resource until it is valid. Rejects if it becomes invalid. */
  async #settled<T extends Static<typeof Order> | Static<typeof Authorization>>(
    url: string,
    read: (response: Response<string>) => T,
  ): Promise<T> {
    const end = this.#clock.monotonic() + MAX_POLL_MS
    for (;;) {
      const response = await this.#post(url, undefined)
      const found = read(response)
      if (found.status === 'valid') return found
      if (found.status === 'invalid') throw new AcmeError(reasonOf(found))
      if (this.#clock.monotonic() > end) throw new AcmeError(`the authority was still at "${found.status}" after 120 s`)
      await this.#clock.sleep(Math.min(retryAfter(response, this.#clock) ?? POLL_MS, MAX_POLL_STEP_MS), this.#signal)
    }
  }

  async #binding(url: string, { key_id: kid, hmac_key: key }: NonNullable<Authority['eab']>): Promise<object> {
    return await new FlattenedSign(new TextEncoder().encode(JSON.stringify(this.#jwk)))
      .setProtectedHeader({ alg: 'HS256', kid, url })
      .sign(Buffer.from(key, 'base64url'))
  }

  /**
   * Sends a signed request. Without a payload, it reads a resource (RFC 8555, 6.3). Rejects with the problem of the
   * authority.
   */
  async #post(url: string, payload: object | undefined): Promise<Response<string>> {
    const bytes = new TextEncoder().encode(payload === undefined ? '' : JSON.stringify(payload))
    for (let attempt = 1; ; attempt += 1) {
      const nonce = this.#nonces.pop() ?? (await this.#newNonce())
      const identity = this.account === undefined ? { jwk: this.#jwk } : { kid: this.account }
      const body = await new FlattenedSign(bytes)
        .setProtectedHeader({ alg: 'ES256', nonce, url, ...identity })
        .sign(this.#key)
      const response = await this.#request(url, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/jose+json' },
      })
      if (response.statusCode < 400) return response
      const problem = problemOf(response)
      if (problem.type.endsWith(':badNonce') && attempt < MAX_NONCE_ATTEMPTS) continue
      const wait = retryAfter(response, this.#clock)
      throw new AcmeError(`${response.statusCode}: ${problem.detail}`, { type: problem.type, retryAfter: wait })
    }
  }

  async #newNonce(): Promise<string> {
    const { newNonce } = await this.#urls()
    await this.#request(newNonce, { method: 'HEAD' })
    const nonce = this.#nonces.pop()
    if (nonce === undefined) throw new AcmeError('the authority returned no nonce')
    return nonce
  }

  async #urls(): Promise<Static<typeof Directory>> {
    this.#directory ??= readDirectory(await this.#request(this.#authority.directory, { method: 'GET' }))
    return this.#directory
  }

  async #request(
    url: string,
    options: { method: 'GET' | 'HEAD' | 'POST'; body?: string; headers?: Record<string, string> },
  ): Promise<Response<string>> {
    try {
      const response = await this.#http(url, options)
      const nonce = response.headers['replay-nonce']
      // Only the last nonce is kept, because nonces expire.
      if (typeof nonce === 'string') this.#nonces.splice(0, this.#nonces.length, nonce)
      return response
    } catch (error) {
      throw new AcmeError(`${new URL(url).host} cannot be used: ${messageOf(error)}`)
    }
  }
}

function problemOf({ body }: Response<string>): { type: string; detail: string } {
  try {
    const value = JSON.parse(body) as Static<typeof Problem>
    if (problemIssues(value).length === 0) return { type: value.type ?? '', detail: value.detail ?? value.type ?? '' }
  } catch {
    // The body is not JSON. The status says enough.
  }
  return { type: '', detail: 'the authority rejected the request' }
}

function reasonOf(found: Static<typeof Order> | Static<typeof Authorization>): string {
  const failed = 'challenges' in found ? found.challenges.find(({ error }) => error) : found
  return failed?.error?.detail ?? 'the authority could not validate the name'
}

/** Returns the milliseconds of `Retry-After`, which has seconds or a date (RFC 9110, 10.2.3). */
function retryAfter({ headers }: Response<string>, clock: Clock): number | undefined {
  const value = headers['retry-after']
  if (value === undefined) return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - clock.now()
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : undefined
}
