import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Middleware } from 'koa'
import type { TSchema } from 'typebox'
import type { Config } from '../../src/config/schema.js'
import type { Clock } from '../../src/core/clock.js'
import type { Log } from '../../src/core/log.js'
import type { Scope } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'
import type { ErrorKind } from './errors.js'
import type { Permission } from './auth/permissions.js'

/**
 * What a token may do where. A zone is covered when `zones` names it or `zonesOf` its account (`*` names all), so that
 * a token can have a zone without having the zone's account. `deny` beats every `allow`.
 */
export interface Grant {
  readonly effect: 'allow' | 'deny'
  /** Names of permissions, or `*`. */
  readonly permissions: readonly string[]
  readonly accounts: readonly string[]
  readonly zones: readonly string[]
  readonly zonesOf: readonly string[]
}

/** Whoever sent the request, as far as the credentials tell. */
export interface Caller {
  readonly type: 'token' | 'key'
  readonly id: string
  readonly name: string
  /** The e-mail address of the legacy pair. */
  readonly email?: string
  readonly grants: readonly Grant[]
}

/** A token that is known, and whether it may be used now. */
export interface Credentials {
  readonly caller: Caller
  readonly status: TokenStatus
  readonly expires_on?: string
  readonly not_before?: string
}
export type TokenStatus = 'active' | 'disabled' | 'expired'

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The members of an endpoint that the middleware read. */
export interface EndpointInfo {
  readonly method: Method
  /** After the scope: `/rulesets/:ruleset_id` of a zone is `/zones/:zone_id/rulesets/:ruleset_id`. */
  readonly path: string
  readonly scopes: readonly Scope['type'][]
  /** At least one is required. None: any valid token that sees the scope. */
  readonly permissions: readonly Permission[]
  readonly body?: TSchema
  /** Content types besides `application/json` that the body, JSON all the same, may come with. */
  readonly jsonAs?: readonly string[]
  /** Maximum size of the JSON body; 64 KiB if not set. */
  readonly maxBytes?: number
  /** Called without credentials. */
  readonly open?: boolean
  /** Verifies the caller's own token: an unknown one is 401, a disabled or expired one still gets an answer. */
  readonly verifies?: boolean
  /** The row that stands for what the schema of the body refuses. Default: `invalid`. */
  readonly refusal?: ErrorKind
}

/** What the middleware know about the request under way; each field is set by the one named in front of it. */
export interface RequestState {
  /** trace */
  requestId: string
  /** routes */
  endpoint?: EndpointInfo
  scopeType?: Scope['type']
  /** authenticate */
  caller?: Caller
  credentials?: Credentials
  /** locate */
  scope?: Scope
  accountId?: string
  /** readBody: the parsed JSON; undefined for an empty body */
  body?: unknown
}

export type ApiMiddleware = Middleware<RequestState>

/** The part of the configuration that the API reads; a new object after it was read again. */
export type ControlConfig = Pick<Config, 'accounts' | 'zones' | 'tokens' | 'legacy_keys' | 'lists' | 'control'>

/** Stands where a client expects a time that the configuration does not tell. */
export const UNKNOWN_TIME = '1970-01-01T00:00:00.000000Z'

/** Takes over connections of the listener, such as for WebSockets. */
export interface Upgrades {
  /** False, with nothing done, where the path is none of its own. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
  /** Asks all that it has taken to end. */
  closeAll(): void
}

/** What the control plane needs from the daemon. */
export interface ControlDeps {
  /** The configuration in force now. */
  readonly config: () => ControlConfig
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** Take requests that ask for another protocol on their connection: the first one that knows the path. */
  readonly upgrades?: readonly Upgrades[]
  /** Told about each answered request; the path is the endpoint's pattern, so that it makes a bounded label. */
  readonly observe?: (request: {
    readonly method: string
    readonly path: string
    readonly status: number
    readonly seconds: number
  }) => void
}
