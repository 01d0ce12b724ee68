import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { Counter } from 'prom-client'
import type { Clock } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import type { Metrics } from '../core/metrics/metrics.js'
import { exportBody, type Attributes, type Span } from './span.js'

/** Spans that wait. Further ones are dropped and counted. */
const MAX_QUEUE = 4096
const MAX_BATCH = 512
const INTERVAL_MS = 1000
const TIMEOUT_MS = 10_000
const MAX_ATTEMPTS = 3
/** At most one warning in this time. */
const WARN_MS = 60_000

export interface ExporterDeps {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** Sends spans to an OTLP/HTTP collector in batches, one at a time. Never makes work wait. */
export class Exporter {
  readonly #deps: ExporterDeps
  readonly #resource: Attributes
  readonly #spans: Counter<'outcome'>
  readonly #agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) }
  #queue: Span[] = []
  #url: URL | undefined
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #warnedAt = -Infinity
  #closed = false

  constructor(resource: Attributes, deps: ExporterDeps) {
    this.#resource = resource
    this.#deps = deps
    this.#spans = new Counter({
      name: 'edged_telemetry_spans_total',
      help: 'Spans of traces by outcome. Dropped spans were not accepted by the collector, or exceeded the queue.',
      labelNames: ['outcome'],
      registers: [deps.metrics],
    })
    for (const outcome of ['exported', 'dropped']) this.#spans.inc({ outcome }, 0)
  }

  /** Base URL of the collector. If undefined, nothing is sent. */
  set url(url: string | undefined) {
    this.#url = url === undefined ? undefined : tracesUrl(url)
  }

  add(span: Span): void {
    if (!this.#url || this.#closed) return
    if (this.#queue.length >= MAX_QUEUE) {
      this.#spans.inc({ outcome: 'dropped' })
      return
    }
    this.#queue.push(span)
    if (this.#queue.length === MAX_BATCH) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), INTERVAL_MS).unref()
  }

  /** Sends the oldest batch that waits, once. Drops the others and releases the connections. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#sending
    const last = this.#queue.splice(0, MAX_BATCH)
    this.#spans.inc({ outcome: 'dropped' }, this.#queue.length)
    this.#queue = []
    if (last.length > 0) await this.#send(last, 1)
    this.#agents.http.destroy()
    this.#agents.https.destroy()
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#sending || this.#queue.length === 0) return
    this.#sending = this.#send(this.#queue.splice(0, MAX_BATCH), MAX_ATTEMPTS).finally(() => {
      this.#sending = undefined
      if (this.#closed) return
      if (this.#queue.length >= MAX_BATCH) this.#flush()
      else if (this.#queue.length > 0) this.#timer ??= setTimeout(() => this.#flush(), INTERVAL_MS).unref()
    })
  }

  async #send(spans: readonly Span[], attempts: number): Promise<void> {
    const body = Buffer.from(exportBody(spans, this.#resource))
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#post(body)
        this.#spans.inc({ outcome: 'exported' }, spans.length)
        return
      } catch (error) {
        this.#warn(error)
        if (attempt >= attempts) break
        await this.#deps.clock.sleep(attempt * INTERVAL_MS)
      }
    }
    this.#spans.inc({ outcome: 'dropped' }, spans.length)
  }

  #warn(error: unknown): void {
    const now = this.#deps.clock.monotonic()
    if (now - this.#warnedAt < WARN_MS) return
    this.#warnedAt = now
    const reason = messageOf(error)
    this.#deps.log.warn(
      { event: 'traces_not_sent', collector: this.#url?.host, reason },
      `telemetry.otlp: cannot send traces to ${this.#url?.host}: ${reason}`,
    )
  }

  #post(body: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      const url = this.#url
      if (!url) return resolve()
      const secure = url.protocol === 'https:'
      const options = {
        method: 'POST',
        agent: secure ? this.#agents.https : this.#agents.http,
        timeout: TIMEOUT_MS,
        headers: { 'content-type': 'application/json', 'content-length': body.length },
      }
      const sent = (secure ? httpsRequest : httpRequest)(url, options, (response) => {
        const { statusCode = 0 } = response
        response.resume()
        response.on('error', reject)
        response.on('end', () =>
          statusCode >= 200 && statusCode < 300 ? resolve() : reject(new Error(`responded with ${statusCode}`)),
        )
      })
      sent.on('timeout', () => sent.destroy(new Error(`no response within ${TIMEOUT_MS / 1000} s`)))
      sent.on('error', reject)
      sent.end(body)
    })
  }
}

/** Returns the URL for traces below the base URL of a collector. */
function tracesUrl(base: string): URL {
  const url = new URL(base)
  if (!url.pathname.endsWith('/v1/traces')) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`
  return url
}
