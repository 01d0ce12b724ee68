import type { Span } from '../../src/history/coverage.js'
import type { HistoryAnswer, HistoryQuery } from '../../src/history/query.js'
import type { ControlDeps } from '../http/context.js'

/** Totals of one zone since the start of the daemon. */
export interface ZoneTraffic {
  readonly requests: number
  /** Responses with status 4xx and 5xx. */
  readonly clientErrors: number
  readonly serverErrors: number
  readonly markdown: number
  readonly cacheHits: number
  readonly bytes: number
}

/** Totals at one time, by the name of the zone. */
export interface TrafficPoint {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly zones: ReadonlyMap<string, ZoneTraffic>
}

/** State of one origin of a zone. */
export interface OriginState {
  readonly url: string
  readonly state: 'up' | 'down' | 'unknown' | 'missing'
  readonly up: boolean | null
  readonly since: string | null
  readonly last_error: string | null
  readonly checked_at: string | null
  readonly backup: boolean
  readonly weight: number
  readonly requests_in_flight: number
}

/** A served host name or pattern without a certificate. */
export interface MissingCertificate {
  readonly zone_id: string
  readonly name: string
  readonly why: string
  readonly write: string
}

/** Something that somebody should look at. */
export interface AttentionItem {
  readonly kind:
    | 'job_failing'
    | 'breaker_open'
    | 'webhook_failing'
    | 'origin_down'
    | 'origin_missing'
    | 'certificate_missing'
    | 'certificate_expires'
    | 'worker_exceptions'
    | 'file_rules_shadow'
    | 'spool_nearly_full'
  readonly severity: 'error' | 'warning'
  /** RFC 3339. Null if it is not known. */
  readonly since: string | null
  readonly text: string
  readonly zone_id: string | null
  /** Null for what concerns the whole daemon. */
  readonly account_id: string | null
  readonly object: { readonly type: string; readonly id: string; readonly name: string }
}

/** The counts of a rule since the start of the daemon. */
export interface RuleCount {
  readonly ruleset: string
  readonly rule: string
  readonly matches: number
  readonly failures: number
}

/** Services of the overview besides configuration and store. */
export interface OverviewServices {
  readonly traffic: {
    /** Totals of the last hour, oldest first. */
    readonly points: readonly TrafficPoint[]
    now(): Promise<TrafficPoint>
    /** Returns the rules that have matched or failed. */
    rules(): Promise<readonly RuleCount[]>
  }
  readonly history: HistoryReader
  /** Returns the origins of each zone that the proxy serves, read while it is iterated. */
  zones(): Iterable<{ readonly id: string; readonly origins: readonly OriginState[] }>
  /** Returns the served host names and patterns without a certificate. */
  missingCertificates(): readonly MissingCertificate[]
  /** Returns what needs attention, of all accounts, errors first. */
  attention(): Promise<readonly AttentionItem[]>
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly version: string
  /** Returns the base URL of the proxy, `http://127.0.0.1:8080`. */
  proxy(): string
}

/** The counts of requests over time. */
export interface HistoryReader {
  /** Whether requests are counted. */
  readonly isEnabled: boolean
  /** Whether the counts are of this machine alone, or of all machines with the same store. */
  readonly machines: 'this' | 'all'
  /** Reads the history, with the requests that have finished by now. */
  read(query: HistoryQuery): Promise<HistoryAnswer>
  /** Returns the times in which requests were counted. Times in milliseconds. */
  coverage(from: number, to: number): readonly Span[]
}

export interface OverviewDeps extends ControlDeps {
  readonly overview: () => OverviewServices
}
