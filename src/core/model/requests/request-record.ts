/** A stage of a request, in milliseconds since its start. */
export interface RecordedPhase {
  readonly name: 'rules' | 'cache' | 'worker' | 'origin' | 'convert' | 'send'
  readonly start_ms: number
  readonly ms: number
  /** What came of the stage, such as a status, or empty. */
  readonly result: string
}

/** A rule that acted on a request. */
export interface RecordedRule {
  readonly ruleset_id: string
  readonly rule_id: string
  readonly phase: string
  readonly name: string
  readonly action: string
}

/** What became of a page that was requested as Markdown. */
export type RecordedMarkdown = 'converted' | 'refused' | 'failed'

/** Alternating names in lower case and values of some header fields. */
export type RecordedFields = readonly string[]

/** A finished request as the request log keeps it. Absent members are unknown or have their usual value. */
export interface RequestRecord {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly ray: string
  /** The record stands for this number of requests. Absent: one. */
  readonly n?: number
  readonly method: string
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly path: string
  /** Begins with a question mark. Absent if there was none, or if it is not kept. */
  readonly query?: string
  /** `1.0`, `1.1` or `2`. */
  readonly http: string
  readonly status: number
  readonly cache?: string
  /** Number of the reason why the cache did not answer. Absent if it had no response, or if it answered. */
  readonly why?: number
  readonly markdown?: RecordedMarkdown
  readonly agent?: {
    readonly name: string
    readonly operator: string
    readonly category: string
    readonly verified: 'none' | 'address' | 'signature'
    /** Value of `cf.verified_bot_category`. */
    readonly bot: string
  }
  readonly ip: string
  /** Two capital letters. */
  readonly country?: string
  /** Bytes of the body that the client got. */
  readonly bytes: number
  readonly ms: number
  readonly phases: readonly RecordedPhase[]
  readonly rules?: readonly RecordedRule[]
  readonly origin?: { readonly url: string; readonly status: number; readonly tries: number }
  /** Name of the Worker that responded. */
  readonly worker?: string
  readonly request: RecordedFields
  readonly response: RecordedFields
}

/** A place in the order of records, newest first. The record itself is not part of what follows. */
export interface RecordPlace {
  readonly at: number
  readonly ray: string
}
