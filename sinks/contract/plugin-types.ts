/** The interface of destinations that plug-ins add. */
import type { PluginObjectSchema } from '../../src/core/extension/schema.js'
import type { Batch, Encoding, SinkFailure, SinkLimits } from '../../src/core/sink.js'
import type { Egress } from '../../src/egress/egress.js'

/** What the operator allows, and the services of the process. */
export interface PluginSinkContext {
  /** Opens connections to public addresses, and to addresses that `egress.allow_cidrs` allows. */
  readonly egress: Egress
  /** `http://` and connections without TLS are allowed. */
  readonly allowPlainHttp: boolean
  /** Absolute folders below which files may be written. */
  readonly allowFileUnder: readonly string[]
}

/** A destination of one job or pipeline. */
export interface PluginSinkConnection {
  /** Encoding of the bodies of batches. Default: identity. */
  readonly encoding?: Encoding
  /** Default: none. */
  readonly limits?: SinkLimits
  /** True if batches must arrive in order, one at a time. Default: false. */
  readonly ordered?: boolean
  /**
   * Delivers a batch. A retry has the same `batch.name`. To reject, throw an Error. Its member `failure` is `transient`
   * (the default, retried soon), `refused` (retried slowly) or `too_large` (retried in halves).
   */
  write(batch: Batch, signal: AbortSignal): Promise<void>
  /** Checks that the destination accepts batches, when a job is created. Default: nothing is checked. */
  check?(signal: AbortSignal): Promise<void>
  close?(): Promise<void>
}

/** An error that `write` and `check` may throw. */
export interface PluginSinkError extends Error {
  readonly failure?: SinkFailure
  readonly retryAfterMs?: number
}

/** A type of destination. */
export interface PluginSink {
  /** Scheme of `destination_conf`, without the colon. */
  readonly scheme: string
  /** The notation of a destination up to its query, for the manual, for example `spool://HOST/PATH`. */
  readonly form: string
  /** What each batch becomes, as a noun phrase, for the manual. */
  readonly summary: string
  /** Query parameters: strings, integers and booleans. A string with `'x-secret': true` is never shown. Default: none. */
  readonly params?: PluginObjectSchema
  /** Checks the form of a destination without any I/O. Throws an Error whose message follows the name of the option. */
  check?(destination: URL, params: Readonly<Record<string, unknown>>, context: PluginSinkContext): void
  /** Opens a destination without connecting to it yet. */
  open(destination: URL, params: Readonly<Record<string, unknown>>, context: PluginSinkContext): PluginSinkConnection
}
