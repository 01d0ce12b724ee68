import type { Clock } from '../src/core/clock.js'
import type { Log } from '../src/core/log.js'
import type { Sink } from '../src/core/sink.js'
import type { Disk } from '../src/disk/durable-write.js'
import type { Egress } from '../src/egress/egress.js'
import type { ParamSchema } from './params.js'

/** What the check of a destination writes. */
export const TEST_TEXT = '{"content":"tests"}'

/** What the operator allows destinations to be, and what sinks work with. */
export interface SinkDeps {
  /** Guards every connection: public addresses only, except for those that the configuration allows. */
  readonly egress: Egress
  /** Allows `http://` destinations, `insecure-skip-verify` and endpoints without TLS. */
  readonly allowPlainHttp: boolean
  /** Absolute folders below which `file://` may write. */
  readonly allowFileUnder: readonly string[]
  /** `stdout:` is for pipeline files only. */
  readonly allowStdout: boolean
  readonly clock: Clock
  readonly log: Log
  /** File system that `file://` writes to. Default: that of Node. */
  readonly disk?: Disk
}

/** A type of destination: one row of the table in `sinks/index.ts`. */
export interface SinkType {
  /** Scheme of `destination_conf`, without the colon. */
  readonly scheme: string
  /** How a destination is written, up to its query, for the manual. */
  readonly form: string
  /** What each batch becomes, for the manual: a noun phrase. */
  readonly summary: string
  /** Query parameters: their check and their manual. Those of HTTP requests may have others, which stay in the URL. */
  readonly params: ParamSchema
  /** If a destination may have parameters of any name: the only ones whose values are not secret. */
  readonly shown?: readonly string[]
  /** The path is a secret, as in the addresses of collectors. */
  readonly secretPath?: boolean
  /** Whether a job needs an ownership challenge for this destination. */
  ownership?(destination: URL): boolean
  /** Checks the form of a destination, without any I/O; throws InvalidInput with the pointer "". */
  check(destination: URL, deps: SinkDeps): void
  /** Opens it; connects to nothing yet. */
  open(destination: URL, deps: SinkDeps): Sink
}
