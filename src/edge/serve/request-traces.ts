import type { Clock } from '../../core/clock.js'
import { headerOf, withHeader } from '../../http/headers.js'
import { CLIENT, SERVER } from '../../telemetry/span.js'
import { newSpanId, traceparent } from '../../telemetry/trace-context.js'
import type { ExchangeTrace, Tracer } from '../../telemetry/tracer.js'
import type { Exchange } from '../exchange/exchange.js'

const FIELD = 'traceparent'
/** Characters of a path that a span has. */
const MAX_PATH = 1024

/** Traces a request if it is sampled: its origin or Worker gets a field that continues the trace. */
export function beginTrace(exchange: Exchange, tracer: Tracer, isTrusted: () => boolean): void {
  const trace = tracer.sample(headerOf(exchange.rawHeaders, FIELD), isTrusted)
  if (!trace) return
  const originSpanId = newSpanId()
  exchange.trace = { traceId: trace.traceId, spanId: trace.spanId, parentId: trace.parentId, originSpanId }
  exchange.headers = withHeader(exchange.headers, FIELD, traceparent(trace.traceId, originSpanId))
}

/** Sends the spans of a finished request: one for the request, one for its origin if it had one. */
export function endTrace(exchange: Exchange, trace: ExchangeTrace, tracer: Tracer, clock: Clock): void {
  const { method, scheme, host, rawTarget, clientAddress, httpVersion, zone, rayId } = exchange
  const { status } = exchange.sent
  const cacheStatus = exchange.caching.status
  const { startedAt, startedMonotonic } = exchange
  const {
    sentAt: originSentAt,
    askedAt: originAskedAt,
    respondedAt: originAt,
    status: originStatus,
    url: originUrl,
  } = exchange.origin
  const at = (monotonic: number): number => startedAt + monotonic - startedMonotonic
  const ended = clock.monotonic()
  const path = pathOf(rawTarget)
  // Without spread members, which take several times as long as the rest.
  tracer.add({
    traceId: trace.traceId,
    spanId: trace.spanId,
    parentId: trace.parentId,
    name: method,
    kind: SERVER,
    startedAt,
    endedAt: at(ended),
    attributes: {
      'http.request.method': method,
      'url.path': path,
      'url.scheme': scheme,
      'server.address': host,
      'client.address': clientAddress,
      'network.protocol.version': httpVersion,
      'http.response.status_code': status,
      'edged.zone': zone.name,
      'edged.ray': rayId,
      'edged.cache_status': cacheStatus,
    },
    failed: status >= 500,
  })
  const begun = originSentAt ?? originAskedAt
  if (begun === undefined) return
  tracer.add({
    traceId: trace.traceId,
    spanId: trace.originSpanId,
    parentId: trace.spanId,
    name: method,
    kind: CLIENT,
    startedAt: at(begun),
    endedAt: at(originAt ?? ended),
    attributes: {
      'http.request.method': method,
      'url.path': path,
      'server.address': originUrl,
      'edged.worker': exchange.worker,
      'http.response.status_code': originStatus > 0 ? originStatus : undefined,
    },
    failed: originStatus === 0 || originStatus >= 500,
  })
}

/** Queries can contain secrets: they are not part of a trace. */
function pathOf(target: string): string {
  const query = target.indexOf('?')
  return target.slice(0, Math.min(query < 0 ? target.length : query, MAX_PATH))
}
