import { messageOf } from '../../core/errors.js'
import { InvalidResponse } from '../../http/origin-errors.js'
import type { ResponseSink } from '../exchange/response.js'
import { withLines, type UnreadResponse } from '../exchange/unread-response.js'
import type { RawHeaders } from '../../http/headers.js'
import type { ClientStream, Responding } from '../client/client-stream.js'
import { withoutEdgeFields } from '../cache/fields.js'
import { sendBody } from '../exchange/bytes-source.js'
import { customPage } from '../exchange/custom-pages.js'
import { errorPage } from '../exchange/error-page.js'
import type { Exchange } from '../exchange/exchange.js'
import { withSecurityHeaders } from '../exchange/https-settings.js'
import { endTrace } from './request-traces.js'
import type { HttpParseError } from '../client/framing.js'
import { originFailure } from '../exchange/origin-errors.js'
import type { ProxyContext } from './proxy-context.js'
import { WriteClock, type WriteLimits } from '../client/write-clock.js'
import { requestIds } from '../exchange/request-ids.js'
import { CACHE_STATUS } from '../exchange/response-fields.js'

/** The recorded status of a client that left without a response. */
const CLIENT_LEFT = 499

/** Error of a rule that closes the connection, without a response or with the part sent so far. */
export class ForcedClose extends Error {
  override readonly name = 'ForcedClose'
}

/** The end of every response: the client. */
export class ClientResponse implements ResponseSink, Responding {
  readonly copies = true
  readonly connection: ClientStream
  readonly #exchange: Exchange
  readonly #context: ProxyContext
  readonly #accept: string | undefined
  readonly #keepAlive: boolean
  /** Called when the client has left and the rest of the response is not wanted. */
  cancel: (() => void) | undefined
  /** Called when the response is complete, or the client has left. Must not throw. */
  finished: (() => void) | undefined
  #drained: (() => void) | undefined
  /** Ends the tunnel if one of its sides is too slow. Undefined without a tunnel. */
  tunnel: { check(now: number, limits: WriteLimits): void } | undefined
  /** Undefined while no data waits for the client. */
  #clock: WriteClock | undefined
  #over = false

  constructor(
    connection: ClientStream,
    exchange: Exchange,
    { accept, keepAlive }: { accept: string | undefined; keepAlive: boolean },
    context: ProxyContext,
  ) {
    this.connection = connection
    this.#exchange = exchange
    this.#accept = accept
    this.#keepAlive = keepAlive
    this.#context = context
    context.metrics.inFlight++
    connection.responding = this
    connection.writer.reset()
  }

  get written(): boolean {
    return this.connection.writer.ended
  }

  /** The response is complete, or the client has left. */
  get isOver(): boolean {
    return this.#over
  }

  get rayId(): string {
    return this.#exchange.rayId
  }

  /** Passes on an interim response of the origin (RFC 9110, 15.2). HTTP/1.0 does not have them. */
  interim(status: number, headers: RawHeaders): void {
    if (this.#over || this.connection.writer.begun || this.#exchange.httpVersion === '1.0') return
    this.connection.interim(status, headers)
  }

  head(status: number, headers: RawHeaders): void {
    if (this.#over) return
    const { writer, reusable } = this.connection
    const { method, httpVersion, rayId } = this.#exchange
    const { config, clock, draining } = this.#context
    const { scheme, zone } = this.#exchange
    const cacheStatus = this.#exchange.caching.status
    if (cacheStatus !== undefined) headers = withoutEdgeFields(headers, cacheStatus)
    if (zone.https.headers.length > 0 && scheme === 'https') headers = withSecurityHeaders(headers, zone.https)
    if (zone.transforms?.response) headers = zone.transforms.response(headers)
    writer.head({ method, httpVersion, keepAlive: this.#keepAlive }, status, headers, {
      close: draining || !reusable,
      clock,
      rayId,
      keepAliveMs: config.limits.keep_alive_timeout,
    })
    this.#exchange.sent.firstByteAt = clock.monotonic()
    this.#exchange.sent.headers = headers
    this.#exchange.sent.status = status
  }

  get takesText(): boolean {
    const { scheme, zone } = this.#exchange
    const isChanged = (zone.https.headers.length > 0 && scheme === 'https') || zone.transforms?.response !== undefined
    return !isChanged && this.connection.writer.headLines !== undefined
  }

  unreadHead(response: UnreadResponse, added: RawHeaders): boolean {
    if (this.#over) return true
    const { writer, reusable } = this.connection
    const { caching, sent } = this.#exchange
    const isComplete = caching.status === undefined || added[0] === CACHE_STATUS
    if (!isComplete || !this.takesText || !writer.headLines) return false
    const { method, httpVersion, rayId } = this.#exchange
    const { config, clock, draining } = this.#context
    const { status } = response.head
    const lines = added.length === 0 ? response : withLines(response, added)
    writer.headLines({ method, httpVersion, keepAlive: this.#keepAlive }, status, lines, {
      close: draining || !reusable,
      clock,
      rayId,
      keepAliveMs: config.limits.keep_alive_timeout,
    })
    sent.firstByteAt = clock.monotonic()
    sent.unread(response, added)
    sent.status = status
    return true
  }

  data(chunk: Buffer): boolean {
    const { writer } = this.connection
    if (this.#over || writer.bare) return true
    if (!writer.fits(chunk.length)) {
      this.fail(new InvalidResponse('the response is longer than its length says'))
      return true
    }
    this.#exchange.sent.bodyBytes += chunk.length
    if (writer.data(chunk)) return true
    this.#stalled()
    return false
  }

  end(trailers?: RawHeaders): void {
    if (this.#over) return
    this.#drained = undefined
    if (!this.connection.writer.end(trailers))
      this.fail(new InvalidResponse('the response is shorter than its length says'))
  }

  fail(error: unknown): void {
    if (this.#over) return
    if (error instanceof ForcedClose) {
      this.#cut()
      return
    }
    const { kind, status, reason, retryAfter, detail, ownerAdvice, workerError } = originFailure(error)
    this.#context.metrics.originFailed(kind)
    this.#log('request_failed', { status, kind, reason, cut: this.connection.writer.begun })
    if (this.connection.writer.begun) this.#cut()
    else
      this.page({
        status,
        retryAfter,
        ...(detail !== undefined && { detail }),
        ...(ownerAdvice !== undefined && { ownerAdvice }),
        ...(workerError && { reason: workerError }),
      })
  }

  onDrain(listener: () => void): void {
    this.#drained = listener
  }

  /** Responds with an error page. */
  page(issue: HttpParseError): void {
    this.#exchange.caching.status = undefined
    if (!this.connection.reusable) {
      this.#refused(issue)
      return
    }
    const { rayId, method, startedAt: at, zone } = this.#exchange
    const { headers, body } =
      customPage(this.#context, this.#exchange, issue) ??
      errorPage(this.#accept, { ...issue, rayId, at, zone: zone.name })
    this.head(issue.status, Object.entries({ ...headers, ...issue.headers }).flat())
    sendBody(this, method, body)
  }

  /** Switches the connection to another protocol: there is no HTTP response. Counted when it closes. */
  switched(status: number, headers: RawHeaders): void {
    this.#exchange.sent.firstByteAt = this.#context.clock.monotonic()
    this.#exchange.sent.headers = headers
    this.#exchange.sent.status = status
    this.#drained = undefined
  }

  faulted(issue: HttpParseError): void {
    if (this.#over) return
    this.#log('request_refused', { status: issue.status, reason: issue.detail })
    if (this.connection.writer.begun || this.#exchange.sent.status !== 0) this.#cut()
    else this.#refused(issue)
  }

  /** Responds and ends the connection, because the rest of the request must not be read. */
  #refused(issue: HttpParseError): void {
    const { rayId, method, startedAt: at, zone } = this.#exchange
    this.#exchange.sent.status = issue.status
    this.#exchange.sent.firstByteAt = this.#context.clock.monotonic()
    this.#exchange.sent.bytes += this.connection.reject(issue, {
      rayId,
      at,
      zone: zone.name,
      accept: this.#accept,
      head: method === 'HEAD',
    })
    this.#finish()
  }

  /** The client must not mistake the part it has for the whole. */
  #cut(): void {
    this.connection.cut()
    this.#finish()
  }

  #stalled(): void {
    this.connection.onDrain(() => {
      if (!this.#over) this.#drained?.()
    })
  }

  check(now: number): void {
    const { limits } = this.#context.config
    if (this.connection.unsentBytes === 0) this.#clock = undefined
    else {
      this.#clock ??= new WriteClock(this.connection, now)
      if (this.#clock.isLate(now, limits)) this.connection.cut()
    }
    this.tunnel?.check(now, limits)
  }

  delivered(last: boolean): void {
    if (this.#over) return
    this.#finish()
    if (last) this.connection.end()
    else this.connection.next()
  }

  left(): void {
    if (this.#over) return
    if (this.#exchange.sent.status !== 101) {
      this.#context.metrics.aborted++
      if (this.#exchange.sent.status === 0) this.#exchange.sent.status = CLIENT_LEFT
    }
    this.#finish()
  }

  #finish(): void {
    this.#over = true
    this.#drained = undefined
    this.connection.responding = undefined
    this.#exchange.body?.release()
    this.connection.body?.abandon()
    const { metrics, zoneMetrics, tracer, clock, recorder, accessLog, observers } = this.#context
    const endedAt = clock.monotonic()
    this.#exchange.sent.endedAt = endedAt
    this.#exchange.sent.bytes += this.connection.writer.bytes
    recorder?.finished(this.#exchange, this.connection)
    accessLog?.finished(this.#exchange, endedAt)
    for (const observer of observers) observer.finished(this.#exchange)
    const { startedMonotonic } = this.#exchange
    const { status, bodyBytes: bytes } = this.#exchange.sent
    const { zone } = this.#exchange
    const cacheStatus = this.#exchange.caching.status
    if (cacheStatus !== undefined) this.#context.cache?.metrics.responded(zone, cacheStatus)
    metrics.inFlight--
    this.finished?.()
    zoneMetrics.finished(this.#exchange)
    const { trace } = this.#exchange
    if (trace && tracer) endTrace(this.#exchange, trace, tracer, clock)
    metrics.responded(status, endedAt - startedMonotonic, bytes)
    try {
      this.cancel?.()
    } catch (error) {
      this.#log('cancel_failed', { reason: messageOf(error) })
    }
  }

  #log(event: string, facts: object): void {
    const { zone, host, method, clientAddress } = this.#exchange
    this.#context.log.warn({
      event,
      ...requestIds(this.#exchange),
      zone: zone.id,
      host,
      method,
      client: clientAddress,
      ...facts,
    })
  }
}
