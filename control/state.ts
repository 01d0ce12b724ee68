import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Middleware } from 'koa'
import type { Config } from '../src/config/schema.js'
import type { Clock } from '../src/core/clock.js'
import type { Log } from '../src/core/log.js'
import type { Scope } from '../src/core/scope.js'
import type { Store } from '../src/core/store.js'
import type { TraceRequest, TraceResult } from '../src/edge/rules/types.js'
import type { Caller } from './access.js'
import type { Credentials } from './auth.js'
import type { Endpoint } from './endpoint.js'
import type { LogpushEngine } from './logpush/engine.js'

/** What the middleware know about the request under way; each field is set by the one named in front of it. */
export interface State {
  /** trace */
  requestId: string
  /** routes */
  endpoint?: Endpoint
  scopeType?: Scope['type']
  /** authenticate */
  caller?: Caller
  credentials?: Credentials
  /** locate */
  scope?: Scope
  accountId?: string
}

export type Step = Middleware<State>

/** The part of the configuration that the API reads; a new object after it was read again. */
export type ControlConfig = Pick<Config, 'accounts' | 'zones' | 'tokens' | 'legacy_keys' | 'lists' | 'control'>

/** Stands where a client expects a time that the configuration does not tell. */
export const UNKNOWN_TIME = '1970-01-01T00:00:00.000000Z'

/** Takes over connections of the listener, such as for WebSockets. */
export interface Upgrades {
  /** False, with nothing done, where the path is none of its own. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): boolean
  /** Asks all that it has taken to end. */
  hangUp(): void
}

/** What the control plane needs from the daemon. */
export interface ControlDeps {
  /** The configuration in force now. */
  readonly config: () => ControlConfig
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** Tries a request out on the rules in force; undefined where no zone of the account serves its host. */
  readonly trace: (accountId: string, request: TraceRequest) => TraceResult | undefined
  /** What log push is made of. */
  readonly logpush: () => LogpushEngine
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
