/** Outcome of a request that left the daemon. */
export interface OutgoingOutcome {
  /** Status of the response; 0 without one. */
  readonly status: number
  /** Reason for the missing response. */
  readonly error?: string | undefined
  /** For work without a status. By default, the status decides (2xx and 3xx are successes). */
  readonly succeeded?: boolean
}

/** A request that leaves the daemon and is traced. */
export interface OutgoingSpan {
  /** Header field that continues the trace (W3C Trace Context). */
  readonly traceparent: string
  end(outcome: OutgoingOutcome): void
}

/** Records requests that leave the daemon, for example deliveries. */
export interface OutgoingTraces {
  /** Returns undefined if the request is not traced. */
  outgoing(name: string, attributes: Readonly<Record<string, string | number>>): OutgoingSpan | undefined
}

/** Records requests that continue a trace. */
export interface ContinuedTraces {
  /** Returns the span of a request with this field `traceparent`. Undefined unless its trace is sampled. */
  continued(
    field: string | undefined,
    name: string,
    attributes: Readonly<Record<string, string | number>>,
  ): OutgoingSpan | undefined
}
