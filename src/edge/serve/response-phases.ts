import { type BytesSource, lengthOf, sendBody, type Bytes } from '../exchange/bytes-source.js'
import type { ResponseSink } from '../exchange/response.js'
import { ForcedClose } from './client-response.js'
import type { Exchange } from '../exchange/exchange.js'
import { CLIENT_LEFT } from '../exchange/origin-exchange.js'
import { type RawHeaders, withoutHeader } from '../../http/headers.js'
import { runCacheRules } from '../rules/cache-rules.js'
import { originFailure } from '../exchange/origin-errors.js'
import type { PhaseName } from '../../rules/phases.js'
import type { ProxyContext } from './proxy-context.js'
import { renderRuleResponse } from './rule-response.js'
import type { TerminalAction } from '../../rules/types.js'
import type { Run } from '../../rules/engine/run.js'
import { requestIds } from '../exchange/request-ids.js'
import { WORKER_ERRORS } from '../exchange/worker-sites.js'

/**
 * The phases of the response in order, after {@link runCacheRules}. The phase of its record is not listed, because it
 * always runs.
 */
const RESPONSE_PHASES = [
  'http_custom_errors',
  'http_response_headers_transform',
  'http_response_compression',
  'http_response_firewall_managed',
] as const satisfies readonly PhaseName[]

const CLOSED = Symbol('closed')

/** Runs the rules of the response phases on the head of a response, and applies their results. */
export class RuledResponse implements ResponseSink {
  readonly copies: boolean
  readonly #next: ResponseSink
  readonly #exchange: Exchange
  readonly #run: Run
  readonly #context: ProxyContext
  #headed = false
  /** A rule has responded: data from the origin is discarded. */
  #replaced = false
  /** Sends the response of a rule. */
  #source: BytesSource | undefined

  constructor(next: ResponseSink, exchange: Exchange, run: Run, context: ProxyContext) {
    this.copies = next.copies === true
    this.#next = next
    this.#exchange = exchange
    this.#run = run
    this.#context = context
  }

  head(status: number, headers: RawHeaders): void {
    this.#headed = true
    const cached = this.#exchange.caching.response
    const originStatus = this.#exchange.origin.status
    // A response from the cache did not reach the origin: limits on requests to the origin do not count it.
    const originHeaders = cached && originStatus === 0 ? undefined : headers
    this.#exchange.response = { status, headers, originHeaders }
    this.#run.responded()
    this.#send(this.#judge())
  }

  data(chunk: Buffer): boolean {
    return this.#replaced || this.#next.data(chunk)
  }

  end(): void {
    if (!this.#replaced) this.#next.end()
  }

  fail(error: unknown): void {
    if (error === CLIENT_LEFT) {
      this.#source?.stop()
      this.#next.fail(error)
    } else if (!this.#headed) this.#failed(error)
    else if (!this.#replaced) this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    // The listener of the source, which sends a rule's response, must stay.
    if (!this.#replaced) this.#next.onDrain(listener)
  }

  /** Runs the phases. Returns the body of a rule that replaces the origin's. */
  #judge(): Bytes | typeof CLOSED | undefined {
    let body: Bytes | undefined
    if (!this.#exchange.caching.haveRulesRun) runCacheRules(this.#exchange, this.#run)
    for (const phase of RESPONSE_PHASES) {
      if (phase === 'http_custom_errors' && this.#exchange.decisions.cache?.origin_error_page_passthru) continue
      const ending = this.#run.response(phase)
      if (!ending) continue
      if (ending.kind === 'close') return CLOSED
      body = this.#take(ending)
      // A custom error page goes through the phases that follow, as the origin's would have.
      if (phase !== 'http_custom_errors') break
    }
    return body
  }

  /** The origin did not respond; a rule may. */
  #failed(error: unknown): void {
    this.#headed = true
    const exchange = this.#exchange
    const { kind, status, reason, retryAfter, workerError } = originFailure(error)
    const headers = retryAfter === undefined ? [] : ['retry-after', String(retryAfter)]
    exchange.response = { status, headers, originHeaders: undefined }
    exchange.decisions.edgeError =
      workerError === undefined ? { type: '5xx', code: 0 } : { type: '1xxx', code: WORKER_ERRORS[workerError][0] }
    this.#run.responded()
    const ending = this.#run.response('http_custom_errors')
    if (ending === undefined || ending.kind === 'close') {
      this.#record()
      this.#next.fail(error)
      return
    }
    const { metrics, log } = this.#context
    metrics.originFailed(kind)
    log.warn({
      event: 'request_failed',
      ...requestIds(exchange),
      zone: exchange.zone.id,
      host: exchange.host,
      kind,
      reason,
    })
    this.#send(this.#take(ending))
  }

  /** Replaces the response with a rule's, and returns its body. */
  #take(ending: Exclude<TerminalAction, { kind: 'close' }>): Bytes {
    const exchange = this.#exchange
    exchange.caching.response = undefined
    exchange.caching.status = undefined
    const { status, headers, body } = renderRuleResponse(ending, exchange)
    exchange.response = {
      status,
      headers: withoutHeader(headers, 'content-length'),
      originHeaders: this.#originHeaders,
    }
    this.#run.responded()
    return body
  }

  #send(body: Bytes | typeof CLOSED | undefined): void {
    this.#record()
    const { response, method } = this.#exchange
    if (body === CLOSED || !response) this.#next.fail(new ForcedClose())
    else if (body === undefined) this.#next.head(response.status, response.headers)
    else {
      this.#replaced = true
      this.#next.head(response.status, [...response.headers, 'content-length', String(lengthOf(body))])
      this.#source = sendBody(this.#next, method, body)
    }
  }

  #record(): void {
    this.#run.response('http_log_custom_fields')
    this.#run.finish(this.#originHeaders)
  }

  get #originHeaders(): RawHeaders | undefined {
    return this.#exchange.response?.originHeaders
  }
}
