import type { Clock } from '../../src/core/clock.js'
import type { Log } from '../../src/core/log.js'
import type { Sink } from '../../src/core/sink.js'
import type { Disk } from '../../src/disk/durable-write.js'
import type { Egress } from '../../src/egress/egress.js'
import type { ParamSchema } from './params.js'

/** Content that the check of a destination writes. */
export const TEST_TEXT = '{"content":"tests"}'

/** Limits that the operator sets for destinations, and dependencies of sinks. */
export interface SinkDeps {
  /** Guards every connection. Only public addresses and addresses that the configuration allows are accepted. */
  readonly egress: Egress
  /** Allows `http://` destinations, `insecure-skip-verify` and endpoints without TLS. */
  readonly allowPlainHttp: boolean
  /** Absolute folders below which `file://` may write. */
  readonly allowFileUnder: readonly string[]
  /** `stdout:` is for pipeline files only. */
  readonly allowStdout: boolean
  readonly clock: Clock
  readonly log: Log
  /** File system that `file://` writes to. Default is the file system of Node. */
  readonly disk?: Disk
}

/** A type of destination, which is one row of the table in `sinks/index.ts`. */
export interface SinkType {
  /** Scheme of `destination_conf`, without the colon. */
  readonly scheme: string
  /** How a destination is written, up to its query, for the manual. */
  readonly form: string
  /** Form in which a batch is sent, for the manual. It is a noun phrase. */
  readonly summary: string
  /**
   * Query parameters, for checks and for the manual. HTTP destinations may have further parameters, which stay in the
   * URL.
   */
  readonly params: ParamSchema
  /** Names of the only parameters whose values are not secret, if a destination may have parameters of any name. */
  readonly shown?: readonly string[]
  /** The path is a secret, as in the addresses of collectors. */
  readonly secretPath?: boolean
  /** Whether a job needs an ownership challenge for this destination. */
  ownership?(destination: URL): boolean
  /** Checks the form of a destination, without any I/O. Throws InvalidInput with the pointer "". */
  check(destination: URL, deps: SinkDeps): void
  /** Opens the destination without connecting to it yet. */
  open(destination: URL, deps: SinkDeps): Sink
}
