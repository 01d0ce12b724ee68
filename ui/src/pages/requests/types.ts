/** A request in the list. */
export interface RequestItem {
  readonly ray_id: string
  readonly at: string
  readonly method: string
  readonly host: string
  readonly path: string
  readonly query: string
  readonly status: number
  readonly cache_status: string | null
  readonly markdown: 'converted' | 'refused' | 'failed' | null
  readonly agent: string | null
  readonly agent_verified: 'none' | 'address' | 'signature' | null
  readonly client_ip: string
  readonly country: string | null
  readonly bytes: number
  readonly duration_ms: number
  /** The request stands for this number of requests. */
  readonly sample_interval: number
}

/** A stage of a request. */
export interface Phase {
  readonly name: 'rules' | 'cache' | 'worker' | 'origin' | 'convert' | 'send'
  readonly start_ms: number
  readonly ms: number
  readonly result: string
}

/** A request with everything that is kept. */
export interface RequestDetail extends RequestItem {
  /** Why the cache did not answer. */
  readonly cache_reason: string | null
  readonly scheme: 'http' | 'https'
  readonly http_version: string
  readonly phases: readonly Phase[]
  readonly rules: readonly {
    readonly ruleset_id: string
    readonly rule_id: string
    readonly phase: string
    readonly name: string
    readonly action: string
  }[]
  readonly origin: { readonly url: string; readonly status: number; readonly tries: number } | null
  readonly worker: string | null
  readonly agent_operator: string | null
  readonly agent_category: string | null
  readonly fields: {
    readonly request: Readonly<Record<string, string>>
    readonly response: Readonly<Record<string, string>>
  }
}
