import { byLabel, collectedMetrics } from '../../core/metrics/collected-metrics.js'
import { LabelCounts } from '../../core/metrics/label-counts.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { PlainHistogram } from '../../core/metrics/histogram.js'
import type { MemoryBudget } from '../../core/memory/memory-budget.js'
import { ORIGIN_FAILURES, type OriginFailureKind } from '../exchange/origin-errors.js'

const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const

/** Counts events of the proxy. Plain numbers while requests run; converted to the registry's form when it is read. */
export class ProxyMetrics {
  inFlight = 0
  connections = 0
  tunnels = 0
  /** Connections closed because there were too many. */
  dropped = 0
  /** Connections of trusted proxies without a valid PROXY header. */
  proxyHeaderFailures = 0
  /** TLS handshakes that failed. */
  handshakeFailures = 0
  /** HTTP/2 connections that were closed because of the client's behavior. */
  http2Abuse = 0
  /** Clients that left before the end of the response. */
  aborted = 0
  retries = 0
  #refused = 0
  /** Finished requests whose zone was found. */
  responses = 0
  sentBytes = 0
  readonly #byClass = new LabelCounts(CLASSES)
  readonly #originFailures = new Map<OriginFailureKind, number>(ORIGIN_FAILURES.map((kind) => [kind, 0]))
  readonly #duration: PlainHistogram

  /** `bodies`: the memory for bodies that rules read; `buffers`: the memory for data that waits for a slow peer. */
  constructor(metrics: Metrics, { bodies, buffers }: { bodies: MemoryBudget; buffers: MemoryBudget }) {
    const { counter, gauge, counters } = collectedMetrics(metrics)
    gauge('edged_proxy_requests_in_flight', 'Client requests in flight.', () => this.inFlight)
    gauge('edged_proxy_connections', 'Open client connections.', () => this.connections)
    gauge('edged_proxy_tunnels', 'Open WebSocket tunnels.', () => this.tunnels)
    counter('edged_proxy_connections_rejected_total', 'Connections above a limit.', () => this.dropped)
    counter(
      'edged_proxy_protocol_failures_total',
      'Connections of trusted proxies without a valid PROXY header.',
      () => this.proxyHeaderFailures,
    )
    counter(
      'edged_proxy_tls_handshake_failures_total',
      'TLS handshakes that failed or took longer than proxy.limits.header_timeout.',
      () => this.handshakeFailures,
    )
    counter(
      'edged_proxy_http2_connections_closed_total',
      'HTTP/2 connections closed because the client cancelled too many requests or sent too many control frames.',
      () => this.http2Abuse,
    )
    counter(
      'edged_proxy_requests_rejected_total',
      'Requests that reached no zone: malformed, oversized, unknown host.',
      () => this.#refused,
    )
    counter('edged_proxy_requests_aborted_total', 'Clients that left before the end.', () => this.aborted)
    counter('edged_proxy_origin_retries_total', 'Requests sent again on a new connection.', () => this.retries)
    counter('edged_proxy_response_body_bytes_total', 'Body bytes sent to clients.', () => this.sentBytes)

    gauge('edged_proxy_buffer_bytes', 'Bytes buffered while one side of a request is slow.', () => buffers.used)
    gauge('edged_rule_body_buffer_bytes', 'Memory taken by request bodies that rules read.', () => bodies.used)
    counter(
      'edged_rule_bodies_truncated_total',
      'Times that this memory was used up, so that rules saw less of a body.',
      () => bodies.refusals,
    )

    counters(
      'edged_proxy_requests_total',
      'Responses to clients by class of status.',
      ['class'],
      byLabel('class', this.#byClass),
    )
    counters(
      'edged_proxy_origin_errors_total',
      'Failures of origins by kind.',
      ['kind'],
      byLabel('kind', this.#originFailures),
    )
    this.#duration = new PlainHistogram(metrics, {
      name: 'edged_proxy_request_duration_seconds',
      help: 'From the head of a request to the end of its answer.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 100],
    })
  }

  /** Counts a finished request whose zone was found. */
  responded(status: number, milliseconds: number, bytes: number): void {
    this.#count(status)
    this.responses++
    this.sentBytes += bytes
    this.#duration.observe(milliseconds / 1000)
  }

  /** Counts a request that was rejected before that. */
  reject(status: number): void {
    this.#refused++
    this.#count(status)
  }

  #count(status: number): void {
    const name = CLASSES[Math.floor(status / 100) - 1]
    if (name) this.#byClass.add(name)
  }

  originFailed(kind: OriginFailureKind): void {
    this.#originFailures.set(kind, (this.#originFailures.get(kind) ?? 0) + 1)
  }
}
