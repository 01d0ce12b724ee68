import type { RecordPlace, RequestRecord } from './request-record.js'

/** The records that are asked for. Times are in milliseconds since 1970. */
export interface RequestQuery {
  /** The first moment. */
  readonly since: number
  /** The first moment after the range. */
  readonly until: number
  /** Only what follows this record, newest first. */
  readonly after?: RecordPlace | undefined
  /** An expression of the rules language. */
  readonly filter?: string | undefined
  /** Maximum records. */
  readonly limit: number
}

/** A rule that is tried on records. */
export interface TrialRule {
  readonly expression: string
  readonly phase: string
  /** Milliseconds since 1970. */
  readonly since: number
  /** Maximum records that each machine examines. Default and maximum: 10,000. */
  readonly limit?: number
}

/** The machines whose records an answer has. */
export interface RequestCoverage {
  /** How many machines answered, with this one. */
  readonly machines: number
  /** Names of machines that did not. */
  readonly missing: readonly string[]
}

/** Records, newest first. */
export interface RequestPage {
  readonly records: readonly RequestRecord[]
  /** Records that were compared with the filter. */
  readonly examined: number
  /** The last examined record. Undefined if no further record is in the range. */
  readonly next: RecordPlace | undefined
  readonly coverage: RequestCoverage
}

/** What the log of a zone keeps. */
export interface KeptRequests {
  /** Time of the oldest record, in milliseconds since 1970. Undefined without records. */
  readonly from: number | undefined
  /** Some records stand for several requests. */
  readonly isSampled: boolean
  readonly coverage: RequestCoverage
}

/** The effect that a rule would have had on the recorded requests. */
export interface DryRun {
  readonly matched: number
  readonly examined: number
  /** Time of the first moment that was examined, in milliseconds since 1970. */
  readonly since: number
  /** Matched records by status and by the name of their agent. */
  readonly statuses: ReadonlyMap<number, number>
  readonly agents: ReadonlyMap<string, number>
  /** Ray ids of the newest matched records. */
  readonly samples: readonly string[]
  readonly coverage: RequestCoverage
}

/**
 * Reads the last requests of zones. Methods with a filter throw {@link InvalidInput} at the pointer "" if it does not
 * fit.
 */
export interface RequestReader {
  page(zone: string, query: RequestQuery): Promise<RequestPage>
  /** Returns the record of a ray id. */
  find(zone: string, ray: string): Promise<RequestRecord | undefined>
  kept(zone: string): Promise<KeptRequests>
  /** Evaluates an expression on the newest records since a time, as a rule of the phase would. */
  dryRun(zone: string, rule: TrialRule): Promise<DryRun>
  /** Yields the records that this machine writes from now on, and that the filter matches, until the signal aborts. */
  follow(zone: string, filter: string | undefined, signal: AbortSignal): AsyncIterable<readonly RequestRecord[]>
}
