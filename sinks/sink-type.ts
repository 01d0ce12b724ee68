import type { Clock } from '../src/core/clock.js'
import type { Log } from '../src/core/log.js'
import type { Sink } from '../src/core/sink.js'
import type { Disk } from '../src/disk/durable-write.js'
import type { Egress } from '../src/egress/egress.js'

/** What the operator allows destinations to be, and what sinks work with. */
export interface SinkDeps {
  /** Guards every connection: public addresses only, but for what the configuration opens. */
  readonly egress: Egress
  /** `http://` destinations, `insecure-skip-verify`, endpoints without TLS. */
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

/** A kind of destination: one row of the table in `sinks/index.ts`. */
export interface SinkType {
  /** Scheme of `destination_conf`, without the colon. */
  readonly scheme: string
  /** Query parameters whose values are secret, besides `header_*` and those that are hidden for every sink. */
  readonly secrets?: readonly string[]
  /** Where a destination may have parameters of any name: the only ones whose values are not secret. */
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
