import type { Clock } from '../core/clock.js'
import type { ContinuedTraces, OutgoingSpan, OutgoingTraces } from '../core/outgoing-traces.js'
import { Exporter, type ExporterDeps } from './exporter.js'
import { CLIENT, type Attributes, type Span } from './span.js'
import { newSpanId, newTraceId, readTraceparent, traceparent } from './trace-context.js'

/**
 * Maximum traces per second that clients request with a sampled `traceparent`, together with API calls and deliveries.
 */
const MAX_ASKED_PER_SECOND = 50

export interface TelemetryConfig {
  readonly otlp: string | null
  /** Share of requests that are traced. */
  readonly sample: number
}

/** The place of a sampled request in its trace. */
interface RequestTrace {
  readonly traceId: string
  readonly spanId: string
  /** Span of the caller, if it sent one. */
  readonly parentId: string | undefined
}

/** The trace of one request of the proxy. */
export interface ExchangeTrace extends RequestTrace {
  /** Span of the request to the origin or Worker. */
  readonly originSpanId: string
}

/** Decides which requests are traced, and sends their spans. A request that is not traced costs one comparison. */
export class Tracer implements OutgoingTraces, ContinuedTraces {
  /** False if nothing is traced. */
  enabled = false
  readonly #clock: Clock
  readonly #exporter: Exporter
  #sample = 0
  #second = 0
  #asked = 0

  constructor(config: TelemetryConfig, resource: Attributes, deps: ExporterDeps) {
    this.#clock = deps.clock
    this.#exporter = new Exporter({ 'service.name': 'edged', ...resource }, deps)
    this.configure(config)
  }

  configure({ otlp, sample }: TelemetryConfig): void {
    this.enabled = otlp !== null
    this.#exporter.url = otlp ?? undefined
    this.#sample = sample
  }

  /** Returns the trace of a request, or undefined if it is not sampled. A trusted caller decides without limit. */
  sample(field: string | undefined, isTrusted: () => boolean): RequestTrace | undefined {
    const parent = field === undefined ? undefined : readTraceparent(field)
    if (!parent) return Math.random() < this.#sample ? newTrace() : undefined
    if (!parent.sampled || (!isTrusted() && !this.#mayAsk())) return undefined
    return { traceId: parent.traceId, spanId: newSpanId(), parentId: parent.spanId }
  }

  /** Returns the trace of work that is always traced, within the limit. */
  always(field?: string): RequestTrace | undefined {
    if (!this.enabled || !this.#mayAsk()) return undefined
    const parent = readTraceparent(field)
    return parent ? { traceId: parent.traceId, spanId: newSpanId(), parentId: parent.spanId } : newTrace()
  }

  add(span: Span): void {
    this.#exporter.add(span)
  }

  outgoing(name: string, attributes: Attributes): OutgoingSpan | undefined {
    return this.#begun(this.always(), name, attributes)
  }

  continued(field: string | undefined, name: string, attributes: Attributes): OutgoingSpan | undefined {
    if (!this.enabled || readTraceparent(field)?.sampled !== true) return undefined
    return this.#begun(this.always(field), name, attributes)
  }

  #begun(trace: RequestTrace | undefined, name: string, attributes: Attributes): OutgoingSpan | undefined {
    if (!trace) return undefined
    const startedAt = this.#clock.now()
    const began = this.#clock.monotonic()
    return {
      traceparent: traceparent(trace.traceId, trace.spanId),
      end: ({ status, error, succeeded = status >= 200 && status < 400 }) =>
        this.add({
          ...trace,
          name,
          kind: CLIENT,
          startedAt,
          endedAt: startedAt + Math.round(this.#clock.monotonic() - began),
          attributes: {
            ...attributes,
            ...(status > 0 && { 'http.response.status_code': status }),
            ...(error !== undefined && { 'error.type': error }),
          },
          failed: !succeeded,
        }),
    }
  }

  async close(): Promise<void> {
    this.enabled = false
    await this.#exporter.close()
  }

  #mayAsk(): boolean {
    const second = Math.floor(this.#clock.monotonic() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#asked = 0
    }
    return this.#asked++ < MAX_ASKED_PER_SECOND
  }
}

const newTrace = (): RequestTrace => ({ traceId: newTraceId(), spanId: newSpanId(), parentId: undefined })
