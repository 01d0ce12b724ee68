import type { Duplex } from 'node:stream'
import type { Origin } from '../../http/origin.js'
import type { OriginConnection, OriginRequest } from '../../http/origin-connection.js'
import { ConnectionLost, TargetDenied } from '../../http/origin-errors.js'
import { requestText } from '../../http/request-text.js'
import type { UnreadHead } from '../../http/response-reader.js'
import { CACHE_STATUS, responseFields } from '../exchange/response-fields.js'
import type { RequestOfWorker } from '../exchange/worker-sites.js'
import { withCacheStatus } from '../cache/fields.js'
import { CLIENT_LEFT, type OriginExchange } from '../exchange/origin-exchange.js'
import type { ResponseSink } from '../exchange/response.js'
import { unreadResponse } from '../exchange/unread-response.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import { READ_AHEAD_BYTES, ReadAhead } from '../client/read-ahead.js'
import type { OriginRoute } from '../origins/route.js'
import type { ProxyContext } from './proxy-context.js'
import type { RequestBody } from '../client/request-body.js'

/** Takes over the connection when the origin agrees to another protocol. */
export type Switch = (status: number, fields: RawHeaders, origin: Duplex) => void

/** Receives interim responses (RFC 9110, 15.2). */
interface InterimReceiver {
  interim(status: number, fields: RawHeaders): void
}

/** A body up to this size is sent to the origin in one piece. */
const SMALL_BODY = 65_536
const NOTHING: RawHeaders = []
const DYNAMIC: RawHeaders = [CACHE_STATUS, 'DYNAMIC']
const REUSED = { fresh: false }
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** One request at its origin: sends it and passes the response to a sink. */
export class Forward implements OriginRequest {
  readonly method: string
  readonly upgrade: boolean
  readonly body: RequestBody | null
  readonly timeoutMs: number | undefined
  readonly client: string | undefined
  readonly preamble: Buffer | undefined
  text = ''
  length: number | undefined
  connection: OriginConnection | undefined
  readonly #exchange: OriginExchange
  #origin: Origin
  readonly #sink: ResponseSink
  readonly #context: ProxyContext
  readonly #switch: Switch | undefined
  /** Undefined while the client keeps up. */
  #ahead: ReadAhead | undefined
  readonly #route: OriginRoute | undefined
  readonly #interim: InterimReceiver | undefined
  readonly #worker: RequestOfWorker | undefined
  /** A part of the request has been sent. */
  #begun = false
  #headed = false
  #repeated = false
  #over = false

  constructor(
    exchange: OriginExchange,
    origin: Origin,
    sink: ResponseSink,
    context: ProxyContext,
    {
      body,
      switched,
      route,
      interim,
      worker,
    }: {
      body: RequestBody | null
      switched: Switch | undefined
      route?: OriginRoute
      interim?: InterimReceiver
      /** The request as a Worker gets it. Undefined for an origin. */
      worker?: RequestOfWorker
    },
  ) {
    this.method = exchange.method
    this.upgrade = switched !== undefined
    this.body = body
    this.timeoutMs =
      exchange.decisions.cache?.read_timeout === undefined ? undefined : exchange.decisions.cache.read_timeout * 1000
    this.client = exchange.clientShare
    this.preamble = route?.preamble
    this.#exchange = exchange
    this.#origin = origin
    this.#sink = sink
    this.#context = context
    this.#switch = switched
    this.#route = route
    this.#interim = interim
    this.#worker = worker
  }

  /** Sends the request as soon as it justifies a connection. The sink is notified of the result. */
  send(): void {
    if (this.body === null || this.upgrade) this.#send()
    else {
      const length = Number(headerOf(this.#exchange.headers, 'content-length') ?? Infinity)
      this.body.whenBegun({ limit: SMALL_BODY, length }, this.#context.bufferMemory, () => this.#send())
    }
  }

  #send(): void {
    const { method, target, unread } = this.#exchange
    const worker = this.#worker
    this.#exchange.origin.askedAt = this.#context.clock.monotonic()
    try {
      if (unread && this.body === null && !this.upgrade) {
        const known = worker ? worker.text() : unread.text(method, target)
        if (known !== undefined) {
          this.text = known
          this.#start(REUSED)
          return
        }
      }
      const { text, length } = requestText({
        method,
        target,
        headers: worker ? worker.fields() : this.#exchange.headers,
        body: this.body,
        upgrade: this.upgrade,
        bare: worker !== undefined,
      })
      this.text = text
      this.length = length
    } catch (error) {
      this.#give(error)
      return
    }
    this.#start(REUSED)
  }

  #start(options: { fresh: boolean }): void {
    try {
      this.#origin.send(this, options)
    } catch (error) {
      this.fail(error as Error)
    }
  }

  /** Cancels the response. */
  cancel(): void {
    const over = this.#over
    this.#over = true
    this.#route?.over()
    this.#ahead?.release()
    if (!over) this.#origin.cancel(this)
    // The stages may still buffer data that the origin sent long ago.
    this.#sink.fail(CLIENT_LEFT)
  }

  sent(): void {
    this.#begun = true
    this.#exchange.origin.sentAt = this.#context.clock.monotonic()
    this.#exchange.origin.peer = this.connection?.peer
  }

  interim(status: number, raw: RawHeaders): void {
    this.#interim?.interim(status, responseFields(status, raw))
  }

  unreadHead(head: UnreadHead): void {
    const { origin, caching } = this.#exchange
    this.#responded(head.status)
    origin.received(head)
    const isDynamic = caching?.status === 'DYNAMIC'
    if (this.#sink.takesText && (isDynamic || caching?.status === undefined)) {
      const response = unreadResponse(head)
      const isText = response && !(isDynamic && response.hasCacheField)
      if (isText && this.#sink.unreadHead?.(response, isDynamic ? DYNAMIC : NOTHING)) return
    }
    this.#pass(head.status, head.fields)
  }

  head(status: number, raw: RawHeaders): void {
    this.#responded(status)
    this.#exchange.origin.headers = raw
    this.#pass(status, raw)
  }

  #responded(status: number): void {
    const { origin } = this.#exchange
    origin.respondedAt = this.#context.clock.monotonic()
    origin.status = status
    this.#headed = true
    this.#route?.responded(status)
  }

  #pass(status: number, raw: RawHeaders): void {
    const cacheStatus = this.#exchange.caching?.status
    if (cacheStatus === undefined || cacheStatus === 'DYNAMIC')
      this.#sink.head(status, responseFields(status, raw, cacheStatus))
    else
      this.#sink.head(
        status,
        withCacheStatus(responseFields(status, raw), { status: cacheStatus, originStatus: status }),
      )
  }

  data(chunk: Buffer): boolean {
    this.#exchange.origin.bytes += chunk.length
    if (this.#ahead) return this.#ahead.data(chunk)
    // A sink that retains chunks gets a copy.
    if (this.#sink.data(this.#sink.copies ? chunk : Buffer.from(chunk))) return true
    if (this.#restIsSmall()) {
      this.#ahead = new ReadAhead(this.#sink, this.#context.bufferMemory)
      this.#sink.onDrain(() => this.#drained())
      return true
    }
    this.#sink.onDrain(() => this.connection?.resume())
    return false
  }

  /** Returns false if the response is known to be too large to be read ahead. */
  #restIsSmall(): boolean {
    const { headers: originHeaders, bytes: originBytes } = this.#exchange.origin
    const length = originHeaders && headerOf(originHeaders, 'content-length')
    return length === undefined || Number(length) - originBytes <= READ_AHEAD_BYTES
  }

  #drained(): void {
    try {
      if (!this.#ahead?.flush()) return
    } catch (error) {
      this.#sink.fail(error)
      return
    }
    this.#ahead = undefined
    this.connection?.resume()
  }

  end(): void {
    this.#over = true
    this.#route?.over()
    if (this.#ahead) {
      this.#ahead.end()
      return
    }
    try {
      this.#sink.end()
    } catch (error) {
      this.#sink.fail(error)
    }
  }

  switched(status: number, raw: RawHeaders, socket: Duplex): void {
    this.#over = true
    this.#exchange.origin.respondedAt = this.#context.clock.monotonic()
    this.#exchange.origin.status = status
    this.#exchange.origin.headers = raw
    this.#route?.responded(status)
    socket.once('close', () => this.#route?.over())
    try {
      this.#switch?.(status, responseFields(status, raw), socket)
    } catch (error) {
      socket.destroy()
      this.#sink.fail(error)
    }
  }

  fail(error: Error): void {
    if (this.#over) return
    if (this.#repeatable(error)) {
      this.#repeated = true
      this.#context.metrics.retries++
      this.#repeat({ fresh: true })
      return
    }
    if (!this.#headed) this.#route?.failed(error)
    if (!this.#mayTryAnother(error)) {
      this.#give(error)
      return
    }
    try {
      const next = this.#route?.next()
      if (!next) {
        this.#give(error)
        return
      }
      this.#origin = next
    } catch {
      // The first failure says more.
      this.#give(error)
      return
    }
    this.#begun = false
    this.#repeated = false
    this.#repeat({ fresh: false })
  }

  /** Whether the origin has probably never seen the request, and repeating it is harmless. */
  #repeatable(error: Error): boolean {
    return error instanceof ConnectionLost && error.stale && !this.#repeated && this.#isHarmless
  }

  /** Whether the request may be sent to another origin, because it is harmless or no byte was sent. */
  #mayTryAnother(error: Error): boolean {
    if (this.#headed || error instanceof TargetDenied) return false
    const { clock, config } = this.#context
    const { askedAt: originAskedAt = 0 } = this.#exchange.origin
    if (clock.monotonic() - originAskedAt >= (this.timeoutMs ?? config.origin.headers_timeout)) return false
    return !this.#begun || this.#isHarmless
  }

  /** Whether an origin may get it twice (RFC 9110, 9.2.1). */
  get #isHarmless(): boolean {
    return this.body === null && REPEATABLE.has(this.method)
  }

  #repeat(options: { fresh: boolean }): void {
    // Deferred: not inside the handler of a connection that is being closed.
    process.nextTick(() => {
      if (!this.#over) this.#start(options)
    })
  }

  #give(error: unknown): void {
    this.#over = true
    this.#route?.over()
    this.#ahead?.release()
    this.#sink.fail(error)
  }
}
