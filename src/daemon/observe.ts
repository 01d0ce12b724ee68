import { Gauge, Histogram } from 'prom-client'
import type { ControlDeps } from '../../control/http/context.js'
import type { Metrics } from '../core/metrics/metrics.js'
import { COMMIT, VERSION } from '../release/package.js'
import { SERVER } from '../telemetry/span.js'
import type { Tracer } from '../telemetry/tracer.js'

/** Registers the gauge that says which build runs. */
export function buildInfo(metrics: Metrics): void {
  new Gauge({
    name: 'edged_build_info',
    help: 'Always 1; the labels are the version of edged and of Node.js, and the commit.',
    labelNames: ['version', 'node', 'commit'],
    aggregator: 'first',
    registers: [metrics],
  }).set({ version: VERSION, node: process.version, commit: COMMIT }, 1)
}

/** Returns the function that counts and traces requests to the API. */
export function observeApi(metrics: Metrics, tracer: Tracer): NonNullable<ControlDeps['observe']> {
  const durations = new Histogram({
    name: 'edged_api_request_duration_seconds',
    help: 'Duration of API requests in seconds, by method, path pattern and status.',
    labelNames: ['method', 'path', 'status'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5],
    registers: [metrics],
  })
  return ({ method, path, status, seconds, startedAt, requestId, traceparent }) => {
    durations.observe({ method, path, status }, seconds)
    const trace = tracer.always(traceparent)
    if (!trace) return undefined
    tracer.add({
      ...trace,
      name: `${method} ${path}`,
      kind: SERVER,
      startedAt,
      endedAt: startedAt + seconds * 1000,
      attributes: {
        'http.request.method': method,
        'http.route': path,
        'http.response.status_code': status,
        'edged.ray': requestId,
      },
      failed: status >= 500,
    })
    return trace.traceId
  }
}
