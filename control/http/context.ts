import type { Server } from 'node:net'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Middleware } from 'koa'
import type { TSchema } from 'typebox'
import type { Config, ZoneConfig } from '../../src/config/schema.js'
import type { Clock } from '../../src/core/clock.js'
import type { TokenCondition } from '../../src/core/model/token.js'
import type { Log } from '../../src/core/log.js'
import type { Scope } from '../../src/core/scope.js'
import type { Store, Stored } from '../../src/core/store.js'
import type { StoredRuleset } from '../../src/core/model/ruleset.js'
import type { ErrorKind } from './errors.js'
import type { Permission } from './permissions.js'

/**
 * Permissions of a token and their scope. A zone is covered if `zones` names it or `zonesOf` its account (`*`: all),
 * so a token can have a zone without having the zone's account. `deny` overrides every `allow`.
 */
export interface Grant {
  readonly effect: 'allow' | 'deny'
  /** Names of permissions, or `*`. */
  readonly permissions: readonly string[]
  readonly accounts: readonly string[]
  readonly zones: readonly string[]
  readonly zonesOf: readonly string[]
}

/** The sender of the request, as identified by its credentials. */
export interface Caller {
  readonly type: 'token' | 'key'
  readonly id: string
  readonly name: string
  /** The e-mail address of the legacy pair. */
  readonly email?: string
  readonly grants: readonly Grant[]
}

/** A known token, and whether it is valid now. */
export interface Credentials {
  readonly caller: Caller
  readonly status: TokenStatus
  readonly expires_on?: string
  readonly not_before?: string
  /** Scope of its record in the store. Undefined for a token of the configuration file. */
  readonly scope?: Scope
  /** Addresses that it may be used from. */
  readonly condition?: TokenCondition
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
  /** The body names the account: `handle` checks the permissions for it. */
  readonly isForAccountOfBody?: true
  readonly body?: TSchema
  /** Content types besides `application/json` that are accepted. The body is JSON for each content type. */
  readonly jsonAs?: readonly string[]
  /** Maximum size of the JSON body; 64 KiB if not set. */
  readonly maxBytes?: number
  /** Called without credentials. */
  readonly open?: boolean
  /** Verifies the caller's own token: an unknown one is 401, a disabled or expired one still gets a response. */
  readonly verifies?: boolean
  /** The error row for a body that its schema rejects. Default: `invalid`. */
  readonly refusal?: ErrorKind
}

/** State of the request in progress. Each field is set by the middleware named above it. */
export interface RequestState {
  /** trace */
  requestId: string
  /** catchUp: the reason why changes of other machines may be missing */
  behind?: string | undefined
  /** routes */
  endpoint?: EndpointInfo
  scopeType?: Scope['type']
  /** clientAddress */
  clientAddress?: string
  /** authenticate */
  caller?: Caller
  credentials?: Credentials
  /** locate */
  scope?: Scope
  accountId?: string
  /** readBody: the parsed JSON. Undefined for an empty body */
  body?: unknown
}

export type ApiMiddleware = Middleware<RequestState>

/** The part of the configuration that the API reads. Replaced by a new object after each reload. */
export type ControlConfig = Pick<
  Config,
  'accounts' | 'zones' | 'tokens' | 'legacy_keys' | 'lists' | 'control' | 'places'
>

/** Placeholder for a required time that the configuration does not contain. */
export const UNKNOWN_TIME = '1970-01-01T00:00:00.000000Z'

/** Takes over connections of the listener, for example for WebSockets. */
export interface Upgrades {
  /** Returns false, and does nothing, if the path is not handled here. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
  /** Starts closing every upgraded connection. */
  closeAll(): void
}

/** Why requests cannot be sent to an origin. */
export interface OriginIssue {
  readonly message: string
  /** False for a name that does not resolve: it may later. */
  readonly isLasting: boolean
}

/** Where certificates of the HTTPS listener come from. */
export interface TlsSources {
  readonly acme: boolean
  /** Certificate files. */
  readonly files: readonly string[]
  /** Returns the host names and patterns of a zone that certificates are ordered for. */
  ordered(zone: ZoneConfig): readonly string[]
}

/** The entry points of the configuration file. */
export interface FileRules {
  /** Returns the entry point of a phase. Undefined if the file does not name the phase. */
  entryPoint(scope: Scope, phase: string): Stored<StoredRuleset> | undefined
  get(scope: Scope, id: string): Stored<StoredRuleset> | undefined
  of(scope: Scope): readonly Stored<StoredRuleset>[]
  /** Returns where a phase is, and each of its rules. Undefined if the configuration is not from a file. */
  places(scope: Scope, phase: string): { readonly file: string; readonly lines: readonly number[] } | undefined
}

/** Dependencies of the control plane. */
export interface ControlDeps {
  /** The configuration in force now. */
  readonly config: () => ControlConfig
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** Distinguishes this machine from the others with the same store. Undefined without others. */
  readonly machine?: string | undefined
  /** Entry points of the configuration file, which the API cannot change. Not set: the file has none. */
  readonly fileRules?: () => FileRules
  /** Maximum connections of the listener; default: 4096. */
  readonly maxConnections?: number
  /** Makes the server listen; default: on the address of the configuration. */
  readonly bind?: (server: Server, address: string, name: 'control') => Promise<void>
  /**
   * Returns why the proxy cannot send requests to an origin that an API user names; undefined if it can. Not set: origins
   * are not checked.
   */
  readonly originIssue?: (origin: URL) => Promise<OriginIssue | undefined>
  /** Returns where certificates of the HTTPS listener come from, or undefined without this listener. */
  readonly tls?: () => TlsSources | undefined
  /** Handlers of requests for a protocol upgrade. The first one that knows the path handles the request. */
  readonly upgrades?: readonly Upgrades[]
  /** Called after each response. Returns the id of its trace, if it is traced. The path is the endpoint's pattern, so the number of metric labels is bounded. */
  readonly observe?: (request: {
    readonly method: string
    readonly path: string
    readonly status: number
    readonly seconds: number
    /** Milliseconds since 1970. */
    readonly startedAt: number
    readonly requestId: string
    readonly traceparent: string | undefined
  }) => string | undefined
}
