import type { RawHeaders } from '../../http/headers.js'
import { BytesSource } from '../exchange/bytes-source.js'
import { newConversion, type Conversion } from '../exchange/conversion.js'
import type { Variant } from '../cache/entries/entry.js'
import type { CachedResponse, VariantRecorder } from '../cache/entries/types.js'
import type { Exchange } from '../exchange/exchange.js'
import type { ResponseSink } from '../exchange/response.js'
import { markdownHeaders, pageOf, variesByAccept } from './headers.js'
import type { Outcome, ReportOutcome } from './page-sink.js'
import { copyFor } from './shared-bytes.js'
import { mayFit } from './variants.js'

/** Creates the sink that converts one page. `conversion` gets its sizes, `reportOutcome` the outcome; `reduced` is called if not all settings applied. */
export type OpenConversion = (
  next: ResponseSink,
  conversion: Conversion,
  reportOutcome: ReportOutcome,
  reduced: () => void,
) => ResponseSink

export interface StoredOptions {
  readonly open: OpenConversion
  /** The facts of the conversion for this request. */
  readonly conversion: Conversion
  readonly reportOutcome: ReportOutcome
  /** All settings that the Markdown depends on, as text. */
  readonly settings: string
  readonly isList: boolean
  /** Content-Signal of the Markdown if the origin sets none. */
  readonly signal: string | undefined
}

/** Facts of a variant: the page cannot be converted. Those of Markdown are the bytes of its page. */
const HTML = 'html'
/** Outcomes that another attempt would have too. */
const PERMANENT: ReadonlySet<Outcome | undefined> = new Set(['too_large', 'undecodable', 'malformed'])

/**
 * Sends the Markdown of a page that is in the cache. It is converted once for each version of the page and each
 * combination of settings, stored beside the page and removed with it.
 */
export class StoredMarkdown implements ResponseSink {
  /** So does the sink that converts; others get copies. */
  readonly copies = true
  readonly #next: ResponseSink
  readonly #exchange: Exchange
  readonly #options: StoredOptions
  /** Receives the stored page. Undefined while its Markdown is awaited or sent. */
  #target: ResponseSink | undefined
  #source: BytesSource | undefined
  #listener: (() => void) | undefined
  #over = false

  constructor(next: ResponseSink, exchange: Exchange, options: StoredOptions) {
    this.#next = next
    this.#exchange = exchange
    this.#options = options
  }

  head(status: number, headers: RawHeaders): void {
    const { isList, settings, open, conversion, reportOutcome } = this.#options
    const cached = this.#exchange.caching.response
    const page = cached && pageOf(status, headers, isList)
    if (!cached || !page || !mayFit(page)) {
      this.#convert(
        open(this.#next, conversion, reportOutcome, () => undefined),
        status,
        headers,
      )
      return
    }
    const name = JSON.stringify(['markdown', settings, page.contentType, page.codings])
    const known = cached.variant(name)
    if (known) {
      if (known.facts !== HTML) cached.body = 'skip'
      this.#respond(known, { status, headers, cached, name })
    } else if (cached.isFirst) this.#convert(this.#recorded(cached, name), status, headers)
    else this.#derive({ status, headers, cached, name })
  }

  data(chunk: Buffer): boolean {
    return this.#target ? this.#target.data(copyFor(this.#target, chunk)) : true
  }

  end(): void {
    if (this.#target) this.#target.end()
  }

  fail(error: unknown): void {
    this.#over = true
    this.#source?.stop()
    if (this.#target) this.#target.fail(error)
    else this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    this.#listener = listener
    this.#target?.onDrain(listener)
  }

  #convert(target: ResponseSink, status: number, headers: RawHeaders): void {
    this.#target = target
    if (this.#listener) target.onDrain(this.#listener)
    target.head(status, headers)
  }

  /** Converts the page while it arrives, and records the Markdown. */
  #recorded(cached: CachedResponse, name: string): ResponseSink {
    const recorder = cached.record(name)
    const { open, conversion, reportOutcome } = this.#options
    const copy = new RecordedMarkdown(this.#next, { recorder, conversion, begun: () => (cached.form = name) })
    const settled: ReportOutcome = (outcome, bytes) => {
      copy.outcome = outcome
      reportOutcome(outcome, bytes)
    }
    return open(copy, conversion, settled, () => recorder.drop())
  }

  /** Converts the stored page for all requests that wait for its Markdown. */
  #derive(page: StoredPage): void {
    const { status, headers, cached, name } = page
    const { open, conversion: own, reportOutcome } = this.#options
    cached.body = 'hold'
    cached.derive(
      name,
      (recorder, done) => {
        const conversion = newConversion()
        const copy = new RecordedMarkdown(undefined, { recorder, conversion, begun: () => undefined, done })
        const settled: ReportOutcome = (outcome, bytes) => {
          copy.outcome = outcome
          reportOutcome(outcome, bytes)
        }
        const sink = open(copy, conversion, settled, () => recorder.drop())
        sink.head(status, headers)
        return sink
      },
      (variant) => {
        if (this.#over) return
        if (variant) this.#respond(variant, page)
        else if (cached.failure) {
          this.fail(cached.failure.error)
          return
        } else
          this.#convert(
            open(this.#next, own, reportOutcome, () => undefined),
            status,
            headers,
          )
        if (!variant || variant.facts === HTML) cached.sendBody()
      },
    )
  }

  #respond(variant: Variant, { status, headers, cached, name }: StoredPage): void {
    if (variant.facts === HTML) {
      this.#target = this.#next
      if (this.#listener) this.#next.onDrain(this.#listener)
      this.#next.head(status, variesByAccept(headers))
      return
    }
    const { conversion, reportOutcome } = this.#options
    conversion.bytes = variant.bytes.length
    conversion.isWhole = true
    conversion.htmlBytes = Number(variant.facts)
    reportOutcome('cached', variant.bytes.length)
    cached.form = name
    this.#exchange.caching.bytes = variant.bytes.length
    this.#next.head(status, markdownHeaders(headers, { signal: this.#options.signal, bytes: variant.bytes.length }))
    this.#source = new BytesSource(this.#next, variant.bytes)
  }
}

interface StoredPage {
  readonly status: number
  readonly headers: RawHeaders
  readonly cached: CachedResponse
  readonly name: string
}

interface Recording {
  readonly recorder: VariantRecorder
  readonly conversion: Conversion
  /** Called when Markdown begins. */
  readonly begun: () => void
  readonly done?: (variant: Variant | undefined) => void
}

/** Records the Markdown of a page on its way to the client, or without one. */
class RecordedMarkdown implements ResponseSink {
  /** The recorder copies. */
  readonly copies: boolean
  outcome: Outcome | undefined
  readonly #next: ResponseSink | undefined
  readonly #recorder: VariantRecorder
  readonly #conversion: Conversion
  readonly #begun: () => void
  readonly #done: (variant: Variant | undefined) => void
  #isMarkdown = false

  constructor(next: ResponseSink | undefined, { recorder, conversion, begun, done = () => undefined }: Recording) {
    this.copies = next === undefined || next.copies === true
    this.#next = next
    this.#recorder = recorder
    this.#conversion = conversion
    this.#begun = begun
    this.#done = done
  }

  head(status: number, headers: RawHeaders): void {
    this.#isMarkdown = this.outcome === 'converted' || this.outcome === 'streamed'
    if (this.#isMarkdown) this.#begun()
    else if (PERMANENT.has(this.outcome)) this.#done(this.#recorder.commit(HTML))
    else {
      this.#recorder.drop()
      this.#done(undefined)
    }
    this.#next?.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    if (this.#isMarkdown) this.#recorder.append(chunk)
    return this.#next ? this.#next.data(chunk) : true
  }

  end(trailers?: RawHeaders): void {
    if (this.#isMarkdown) this.#done(this.#recorder.commit(String(this.#conversion.htmlBytes)))
    this.#next?.end(trailers)
  }

  fail(error: unknown): void {
    this.#recorder.drop()
    this.#done(undefined)
    this.#next?.fail(error)
  }

  onDrain(listener: () => void): void {
    this.#next?.onDrain(listener)
  }
}
