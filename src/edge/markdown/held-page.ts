import { MAX_HTML_BYTES } from '../../../pipelines/markdown/options.js'
import { NotConvertible } from '../../../pipelines/markdown/text/not-convertible.js'
import { Decoders } from '../exchange/content-coding.js'
import { markdownHeaders, variesByAccept, type Page } from './headers.js'
import { HeldBytes } from '../../core/memory/memory-budget.js'
import type { Outcome, PageContext, PageConverter, PageSink } from './page-sink.js'

/**
 * A page that can be judged convertible only at its end: its size may exceed the limit, its coding or its XML may be
 * broken. So both the original bytes and their Markdown are buffered until one of the two is sent.
 */
export class HeldPage implements PageSink {
  readonly copies = false
  readonly #context: PageContext
  readonly #original: HeldBytes
  readonly #markdown: HeldBytes
  readonly #converter: PageConverter
  readonly #decoders: Decoders | undefined
  #state: 'holding' | 'sending' | 'over' = 'holding'
  #htmlBytes = 0
  /** The one of the two buffers that is sent first. */
  #held: HeldBytes
  /** Chunks that arrived in the meantime. They are sent after `#held`. */
  readonly #tail: Buffer[] = []
  /** Decoded chunks, converted when there is time. */
  #undone: Uint8Array | undefined
  #blocked = false
  #ended = false

  constructor(page: Page, context: PageContext) {
    this.#context = context
    this.#original = new HeldBytes(context.memory)
    this.#markdown = new HeldBytes(context.memory)
    this.#held = this.#original
    this.#converter = context.converter(page.contentType)
    if (page.codings.length > 0) {
      const html = {
        write: (bytes: Uint8Array) => this.#decoded(bytes),
        end: () => this.#finish(),
        fail: () => this.#giveUp('undecodable'),
      }
      this.#decoders = new Decoders(page.codings, html, context.resume)
    }
  }

  data(chunk: Buffer): boolean {
    let open = true
    if (!this.#holding) {
      this.#tail.push(chunk)
      this.#flow()
    } else if (!this.#original.append(chunk)) this.#giveUp('no_memory', chunk)
    else if (this.#decoders) open = this.#decoders.write(chunk)
    else this.#convert(chunk)
    return this.#holding ? open : !this.#blocked
  }

  end(): void {
    this.#ended = true
    if (!this.#holding) this.#flow()
    else if (this.#decoders) this.#decoders.end()
    else this.#finish()
  }

  drained(): void {
    this.#blocked = false
    if (this.#state === 'sending') this.#flow()
  }

  release(): void {
    this.#state = 'over'
    this.#context.turns.delete(this.#convertUndone)
    this.#decoders?.destroy()
    this.#original.release()
    this.#markdown.release()
  }

  get #holding(): boolean {
    return this.#state === 'holding'
  }

  /** Accepts decoded data outside of calls of this sink, because many pages may be decoded concurrently. */
  #decoded(html: Uint8Array): boolean {
    const { turns } = this.#context
    if (!this.#holding) return false
    if (!turns.open) {
      this.#undone = html
      turns.add(this.#convertUndone)
      return false
    }
    const started = performance.now()
    const open = this.#convert(html)
    turns.spend(performance.now() - started)
    return open
  }

  readonly #convertUndone = (): void => {
    const html = this.#undone
    this.#undone = undefined
    if (html && this.#decoded(html)) this.#decoders?.resume()
  }

  #convert(html: Uint8Array): boolean {
    if (!this.#holding) return false
    this.#htmlBytes += html.length
    if (this.#htmlBytes > MAX_HTML_BYTES) this.#giveUp('too_large')
    else this.#keep(() => this.#converter.write(html))
    return this.#holding
  }

  #finish(): void {
    if (!this.#holding || !this.#keep(() => this.#converter.end())) return
    const { headers, signal, conversion } = this.#context
    this.#original.release()
    this.#held = this.#markdown
    const bytes = this.#markdown.length
    conversion.bytes = bytes
    conversion.isWhole = true
    conversion.htmlBytes = this.#htmlBytes
    this.#begin('converted', markdownHeaders(headers, { signal, bytes }), bytes)
  }

  /**
   * Buffers the Markdown that `convert` returns. Returns false if it fails or memory runs out; the page is then sent as
   * HTML.
   */
  #keep(convert: () => string): boolean {
    try {
      if (this.#markdown.append(Buffer.from(convert()))) return true
      this.#giveUp('no_memory')
    } catch (error) {
      if (!(error instanceof NotConvertible)) this.#context.reportBug(error)
      this.#giveUp(error instanceof NotConvertible ? 'malformed' : 'internal_error')
    }
    return false
  }

  #giveUp(outcome: Outcome, unheld?: Buffer): void {
    if (!this.#holding) return
    this.#decoders?.destroy()
    this.#markdown.release()
    if (unheld) this.#tail.push(unheld)
    this.#begin(outcome, variesByAccept(this.#context.headers))
  }

  #begin(outcome: Outcome, headers: string[], bytes?: number): void {
    this.#state = 'sending'
    this.#context.reportOutcome(outcome, bytes)
    this.#context.next.head(this.#context.status, headers)
    this.#flow()
  }

  /** Sends the buffered data as fast as it is accepted, then ends the response or requests more. */
  #flow(): void {
    const { next, resume } = this.#context
    while (!this.#blocked && this.#state === 'sending') {
      const bytes = this.#held.shift() ?? this.#tail.shift()
      if (bytes) this.#blocked = !next.data(bytes)
      else if (!this.#ended) return resume()
      else {
        this.#state = 'over'
        next.end()
      }
    }
  }
}
