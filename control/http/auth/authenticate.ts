import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { account, DAEMON } from '../../../src/core/scope.js'
import { CREDENTIAL, TOKEN } from '../../../src/core/model/token.js'
import { ApiError, ERRORS, type ErrorKind } from '../errors.js'
import { configIndex, sha256 } from './config-index.js'
import { FailedAttempts } from './failed-attempts.js'
import { SharedFailures } from './shared-failures.js'
import { grantsIn } from './policies.js'
import { TokenUses } from './token-uses.js'
import { isUsableFrom } from './token-condition.js'
import type { ControlDeps, Credentials, ApiMiddleware, TokenStatus } from '../context.js'

type Deps = Pick<ControlDeps, 'config' | 'store' | 'clock' | 'machine'>

/** Identifies the caller: a bearer token, or the legacy pair of X-Auth-Email and X-Auth-Key. */
export function authenticate(deps: Deps): ApiMiddleware {
  const { store, clock, machine } = deps
  const shared = machine === undefined ? undefined : new SharedFailures({ store, clock, machine })
  const failed = new FailedAttempts(clock, shared)
  const uses = new TokenUses(deps)
  const identified = (address: string, headers: IncomingHttpHeaders, verifying: boolean): Credentials => {
    failed.check(address)
    try {
      const credentials = identify(deps, headers, verifying)
      if (!isUsableFrom(credentials.condition, address))
        throw new ApiError('unknownToken', undefined, `Cannot use the access token from location: ${address}`)
      return credentials
    } catch (error) {
      // A request without credentials is not an attempt to guess any.
      if (!(error instanceof ApiError && error.kind === 'noCredentials')) failed.count(address)
      throw error
    }
  }
  return async (ctx, next) => {
    const { endpoint, clientAddress: address = '' } = ctx.state
    if (endpoint?.open) return await next()
    const credentials = identified(address, ctx.headers, endpoint?.verifies ?? false)
    // An expired or disabled token can still read its own state.
    if (!endpoint?.verifies) assertUsable(credentials, deps.clock.now())
    if (credentials.scope) uses.used(credentials.scope, credentials.caller.id)
    ctx.state.caller = credentials.caller
    ctx.state.credentials = credentials
    return await next()
  }
}

function identify(deps: Deps, headers: IncomingHttpHeaders, verifying: boolean): Credentials {
  const { authorization, 'x-auth-email': email, 'x-auth-key': key } = headers
  if (authorization !== undefined) return byToken(deps, authorization, verifying)
  if (typeof email === 'string' && typeof key === 'string') return byKey(deps, email, key)
  throw new ApiError('noCredentials')
}

/** Its message has the reasons too, because many clients show nothing else. */
function badHeaders(chain: readonly ErrorKind[]): ApiError {
  const reasons = chain.map((kind) => ERRORS[kind][2]).join('; ')
  return new ApiError('badHeaders', undefined, { message: `${ERRORS.badHeaders[2]}: ${reasons}`, chain })
}

// B64token (RFC 6750, 2.1).
const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i

function byToken(deps: Deps, authorization: string, verifying: boolean): Credentials {
  const secret = authorization.replace(/^Bearer +/i, '').trim()
  const found = secret === authorization ? undefined : known(deps, secret)
  if (found) return found
  if (!BEARER.test(authorization)) throw badHeaders(['badAuthorization'])
  throw new ApiError(verifying ? 'unverifiedToken' : 'unknownToken')
}

/** Returns the token with this secret, from the configuration or from the store. */
function known({ config, store, clock }: Deps, secret: string): Credentials | undefined {
  const hash = sha256(secret)
  const listed = configIndex(config()).tokens.get(hash)
  if (listed && sameHash(listed.hash, hash)) return { caller: listed.caller, status: 'active' }
  const credential = store.get(CREDENTIAL, DAEMON, hash)
  if (!credential) return undefined
  const { token_id: tokenId, account_id: owner } = credential.value
  const scope = owner === undefined ? DAEMON : account(owner)
  const token = store.get(TOKEN, scope, tokenId)?.value
  if (!token || !sameHash(token.hash, hash)) return undefined
  const { id, name, policies, expires_on, not_before, condition } = token
  return {
    caller: { type: 'token', id, name, grants: grantsIn(scope, policies) },
    status: statusOf(token, clock.now()),
    scope,
    ...(expires_on !== undefined && { expires_on }),
    ...(not_before !== undefined && { not_before }),
    ...(condition !== undefined && { condition }),
  }
}

/** Returns the state of a token in the words of the public API. */
export function statusOf(token: { status: 'active' | 'disabled'; expires_on?: string }, now: number): TokenStatus {
  if (token.expires_on !== undefined && Date.parse(token.expires_on) <= now) return 'expired'
  return token.status
}

function byKey({ config }: Deps, email: string, key: string): Credentials {
  const chain = [
    ...(/^[^\s@]+@[^\s@]+$/.test(email) ? [] : (['badAuthEmail'] as const)),
    ...(/^[\x21-\x7e]+$/.test(key) ? [] : (['badAuthKey'] as const)),
  ]
  if (chain.length > 0) throw badHeaders(chain)
  const hash = sha256(key)
  const pair = configIndex(config()).keys.get(email.toLowerCase())
  if (!pair || !sameHash(pair.hash, hash)) throw new ApiError('unknownKey')
  return { caller: pair.caller, status: 'active' }
}

function assertUsable({ status, not_before }: Credentials, now: number): void {
  if (status !== 'active') throw new ApiError('unknownToken', undefined, `the access token is ${status}`)
  if (not_before !== undefined && Date.parse(not_before) > now)
    throw new ApiError('unknownToken', undefined, `the access token is valid from ${not_before} on`)
}

const sameHash = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'))
