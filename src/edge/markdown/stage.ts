import { Counter, Gauge } from 'prom-client'
import { MarkdownConverter } from '../../../pipelines/markdown/convert.js'
import type { Content } from '../../../pipelines/markdown/options.js'
import { MAX_BUFFERED } from '../../../pipelines/markdown/main/main-writer.js'
import { LlmsTxt } from '../../../pipelines/markdown/llms-txt.js'
import { letHeapGrow } from '../../core/memory/heap-size.js'
import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { newConversion } from '../exchange/conversion.js'
import type { Exchange } from '../exchange/exchange.js'
import { requestIds } from '../exchange/request-ids.js'
import { acceptsTrailers, type ResponseSink, type Stage } from '../exchange/response.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import { linkTo, markdownAddress } from '../exchange/markdown-addresses.js'
import { HeldPage } from './held-page.js'
import { wantsDocument, withOriginTags } from './hint.js'
import { HintedPage } from './hinted-page.js'
import { hostOf, siteOf } from '../exchange/site.js'
import { listResponse } from './list-response.js'
import { signalOf } from '../exchange/content-signal.js'
import { pageOf, variesByAccept, type Page } from './headers.js'
import { AliasResponse, HtmlVariant, MarkdownHead, mayFit, MIN_COMPRESSED_BYTES, PlainVariant } from './variants.js'
import type { MemoryBudget } from '../../core/memory/memory-budget.js'
import { CompressedResponse } from '../compression/compressed-response.js'
import { askForHtml, wantsMarkdown } from './negotiate.js'
import {
  OUTCOMES,
  SENT_AS_MARKDOWN,
  type Outcome,
  type PageContext,
  type PageConverter,
  type PageSink,
  type ReportOutcome,
} from './page-sink.js'
import { CONVERSIONS, TurnQueue, type Arrivals } from '../../core/schedule/turn-queue.js'
import { StoredMarkdown, type OpenConversion } from './stored.js'
import { copyFor, ROOMS } from './shared-bytes.js'
import { StreamedPage } from './streamed-page.js'

export interface MarkdownOptions {
  /** Maximum bytes of buffered pages, over all requests. */
  readonly memory: MemoryBudget
  /** Creates the converter of one page from its Content-Type; default: the one of `pipelines/markdown`. */
  readonly converter?: (contentType: string, content: Content, extras?: Extras) => PageConverter
  /** Connections of the proxy: conversions leave more time to others while clients connect. */
  readonly arrivals?: Arrivals
  readonly metrics: Metrics
  readonly log: Log
}

/**
 * Responds in Markdown if the zone's converter is on, the request lists `text/markdown` and the origin returns HTML
 * that can be converted. Every other response passes byte for byte, with `accept` in its Vary.
 */
export function markdownStage({ memory, converter = toMarkdown, arrivals, metrics, log }: MarkdownOptions): Stage {
  const reportOutcome = pageCounter(metrics, memory)
  const turns = new TurnQueue(CONVERSIONS, arrivals)
  return (exchange, next) => {
    const { method, zone } = exchange
    const { settings } = exchange.decisions
    if (!settings.content_converter || (method !== 'GET' && method !== 'HEAD')) return next
    exchange.settle()
    const { alias } = exchange
    const wanted = exchange.agentAction === 'markdown' || wantsMarkdown(exchange.accept, zone.negotiation)
    if (!alias && !wanted) return htmlVariant(exchange, next)
    exchange.headers = askForHtml(exchange.headers)
    const client = next instanceof CompressedResponse ? next : new CompressedResponse(next, exchange)
    const isList = alias?.type === 'llms_txt'
    const end = isList ? listResponse(client, exchange, memory) : client
    const sink = alias ? new AliasResponse(end, alias, headerOf(exchange.headers, 'host')) : end
    const signal = signalOf(zone)
    const extras = extrasOf(exchange)
    // A compression rule decides first. Without a rule Markdown has no coding, because the origin chose its coding for
    // the HTML.
    const compress = () => {
      if (zone.compressesMarkdown === true) exchange.decisions.compression ??= ['default']
    }
    if (method === 'HEAD') return new MarkdownHead(sink, { isList, signal, compress })
    const content = settings.content_converter_content ?? 'page'
    const trailers = acceptsTrailers(exchange)
    const conversion = newConversion()
    const settled: ReportOutcome = (outcome, bytes = Infinity) => {
      if (SENT_AS_MARKDOWN.has(outcome) && bytes >= MIN_COMPRESSED_BYTES) compress()
      reportOutcome(outcome)
      conversion.outcome = outcome
      exchange.conversion = conversion
    }
    const context = {
      memory,
      converter: isList ? llmsTxt(exchange) : (type: string, part: Content) => converter(type, part, extras),
      content,
      isList,
      signal,
      turns,
      reportBug: (error: unknown) => log.error({ event: 'conversion_failed', ...requestIds(exchange), err: error }),
      reportOutcome: settled,
      trailers,
      reduced: () => undefined,
    }
    const open: OpenConversion = (to, facts, outcome, reduced) =>
      new MarkdownResponse(to, { ...context, conversion: facts, reportOutcome: outcome, reduced })
    const source = isList ? ['llms_txt', siteOf(exchange), zone.mdAddresses, alias.part] : ['page', extras]
    // Everything that the converter reads besides the page: stored Markdown is used only with the same settings.
    const stored = {
      open,
      conversion,
      reportOutcome: settled,
      isList,
      signal,
      settings: JSON.stringify([...source, content]),
    }
    return new StoredMarkdown(sink, exchange, stored)
  }
}

/** Returns the sink of a response to a request that does not ask for Markdown. */
function htmlVariant(exchange: Exchange, next: ResponseSink): ResponseSink {
  const { zone, rawTarget } = exchange
  const markdown = zone.mdAddresses === true ? markdownAddress(rawTarget) : undefined
  const index = zone.llmsTxt !== undefined && zone.llmsTxt !== 'off' ? '/llms.txt' : undefined
  const links: string[] = []
  if (markdown !== undefined) links.push(linkTo(markdown, 'rel="alternate"; type="text/markdown"'))
  if (index !== undefined) links.push(linkTo(index, 'rel="describedby"; type="text/markdown"'))
  if (markdown === undefined || zone.agents?.hint !== true || !wantsDocument(exchange))
    return new PlainVariant(next, links)
  const { headers, hasHinted } = withOriginTags(exchange.headers)
  exchange.headers = headers
  return new HtmlVariant(new HintedPage(next, exchange, { addresses: { markdown, index }, hasHinted }), links)
}

/** Memory for the blocks of one page during the choice of its main content: two bytes per character. */
const MAIN_CONTENT_BYTES = 2 * MAX_BUFFERED

function toMarkdown(contentType: string, content: Content, extras?: Extras): PageConverter {
  letHeapGrow()
  return new MarkdownConverter({ contentType, content, ...extras })
}

/** What Markdown contains besides the content of its page. */
interface Extras {
  /** Address of the page, if links are absolute. */
  readonly base?: string
  readonly notice?: string
}

function extrasOf(exchange: Exchange): Extras | undefined {
  const { zone, target } = exchange
  if (zone.hasAbsoluteLinks !== true) return undefined
  const site = siteOf(exchange)
  const isListed = zone.agents?.hint === true && zone.llmsTxt !== undefined && zone.llmsTxt !== 'off'
  const notice = isListed ? { notice: `> Index of all pages: [/llms.txt](${site}/llms.txt)` } : {}
  return { base: URL.canParse(site + target) ? site + target : site, ...notice }
}

/** Returns the converter from the front page or the sitemap of a site to its `llms.txt`. */
function llmsTxt(exchange: Exchange): (contentType: string) => PageConverter {
  const { zone, alias } = exchange
  const host = hostOf(exchange)
  const site = siteOf(exchange)
  const address = zone.mdAddresses === true ? markdownAddress : undefined
  return (contentType) => new LlmsTxt({ contentType, host, address, site, part: alias?.part })
}

function pageCounter(metrics: Metrics, memory: MemoryBudget): (outcome: Outcome) => void {
  const pages = new Counter({
    name: 'edged_markdown_pages_total',
    help: 'HTML pages requested as Markdown, by outcome; converted, streamed and cached ones were sent as Markdown.',
    labelNames: ['outcome'],
    registers: [metrics],
  })
  for (const outcome of OUTCOMES) pages.inc({ outcome }, 0)
  const held = new Gauge({
    name: 'edged_markdown_buffered_bytes',
    help: 'Bytes of HTML and Markdown buffered until it is known how a page is sent.',
    registers: [],
    collect() {
      this.set(memory.used)
    },
  })
  metrics.registerMetric(held)
  return (outcome) => pages.inc({ outcome })
}

/** Maximum bytes of a page that are converted without a pause. */
const SLICE = 32_768

interface StageContext extends Pick<
  PageContext,
  'memory' | 'signal' | 'turns' | 'conversion' | 'reportBug' | 'reportOutcome' | 'trailers'
> {
  readonly converter: (contentType: string, content: Content) => PageConverter
  readonly content: Content
  /** The page is the source of a list of pages; XML is one too. */
  readonly isList: boolean
  /** Called if memory is not sufficient for all settings. */
  readonly reduced: () => void
}

class MarkdownResponse implements ResponseSink {
  /** A page is converted during the call. What has to wait, or what others retain, is copied. */
  readonly copies = true
  readonly #next: ResponseSink
  readonly #context: StageContext
  /** Undefined if the body passes unchanged. */
  #page: PageSink | undefined
  /** Data that is not processed yet, and whether the end follows it. */
  #rest: Buffer | undefined
  /** Memory of the rest that other pages use after its conversion. */
  #room: Buffer | undefined
  #endDue = false
  /** `data` returned false and the listener waits to be called. */
  #waiting = false
  #working = false
  /** The client has read its data, and the page has not been notified yet. */
  #drainDue = false
  #over = false
  /** Bytes of the memory budget that the converter has reserved. */
  #reserved = 0
  #listener = (): void => {}

  constructor(next: ResponseSink, context: StageContext) {
    this.#next = next
    this.#context = context
    next.onDrain(() => {
      this.#drainDue = this.#page !== undefined
      this.#resume()
    })
  }

  head(status: number, headers: RawHeaders): void {
    const page = pageOf(status, headers, this.#context.isList)
    if (page && mayFit(page)) this.#page = this.#pageSink(page, status, headers)
    else {
      if (page) this.#context.reportOutcome('too_large')
      this.#next.head(status, variesByAccept(headers))
    }
  }

  data(chunk: Buffer): boolean {
    if (this.#over) return true
    const page = this.#page
    if (!page) this.#waiting = !this.#next.data(copyFor(this.#next, chunk))
    else if (this.#rest) {
      this.#rest = Buffer.concat([this.#rest, chunk])
      this.#waiting = true
    } else if (this.#context.turns.open) {
      this.#rest = copyFor(page, chunk)
      this.#waiting = !this.#work(page)
      if (this.#rest && page.copies) this.#rest = Buffer.from(this.#rest)
    } else {
      this.#rest = this.#waitingCopy(page, chunk)
      this.#waiting = true
      this.#context.turns.add(this.#resume)
    }
    return !this.#waiting
  }

  end(): void {
    if (this.#over) return
    this.#waiting = false
    if (!this.#page) this.#next.end()
    else if (this.#rest) this.#endDue = true
    else if (this.#context.turns.open) this.#end(this.#page)
    else {
      this.#endDue = true
      this.#context.turns.add(this.#resume)
    }
  }

  fail(error: unknown): void {
    this.#over = true
    this.#rest = undefined
    this.#context.turns.delete(this.#resume)
    this.#page?.release()
    this.#releaseReserved()
    this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    this.#listener = listener
  }

  #pageSink(page: Page, status: number, headers: RawHeaders): PageSink {
    const { converter } = this.#context
    const content = this.#reserve()
    const context = {
      ...this.#context,
      converter: (contentType: string) => converter(contentType, content),
      status,
      headers,
      next: this.#next,
      resume: () => this.#resume(),
    }
    const { xhtml, codings, length } = page
    if (xhtml || codings.length > 0 || length === undefined) return new HeldPage(page, context)
    return new StreamedPage({ ...page, length }, context)
  }

  /** Reserves the memory for choosing the main content. Without it the whole page is converted. */
  #reserve(): Content {
    const { memory, content } = this.#context
    if (content === 'page') return 'page'
    if (!memory.take(MAIN_CONTENT_BYTES)) {
      this.#context.reduced()
      return 'page'
    }
    this.#reserved = MAIN_CONTENT_BYTES
    return 'main'
  }

  #releaseReserved(): void {
    if (this.#reserved > 0) this.#context.memory.give(this.#reserved)
    this.#reserved = 0
  }

  /** Passes one slice of the rest to the page. Returns true if the page accepts more and no rest is left. */
  #work(page: PageSink): boolean {
    const rest = this.#rest
    if (!rest) return true
    this.#rest = rest.length > SLICE ? rest.subarray(SLICE) : undefined
    let open = false
    this.#working = true
    this.#timed(() => {
      open = page.data(rest.subarray(0, SLICE))
    })
    this.#working = false
    if (this.#room) ROOMS.give(this.#room)
    this.#room = undefined
    if (open && this.#rest) this.#context.turns.add(this.#resume)
    return open && !this.#rest
  }

  #waitingCopy({ copies }: PageSink, chunk: Buffer): Buffer {
    this.#room = copies && chunk.length <= ROOMS.bytes ? ROOMS.take() : undefined
    if (!this.#room) return Buffer.from(chunk)
    this.#room.set(chunk)
    return this.#room.subarray(0, chunk.length)
  }

  #timed(work: () => void): void {
    const started = performance.now()
    try {
      work()
    } catch (error) {
      this.#broken(error)
    }
    this.#context.turns.spend(performance.now() - started)
  }

  /** Continues, because the page or the client accepts more. */
  readonly #resume = (): void => {
    if (this.#over || this.#working) return
    const page = this.#page
    if (page && !this.#context.turns.open) {
      this.#context.turns.add(this.#resume)
      return
    }
    if (page && this.#drainDue) {
      this.#drainDue = false
      this.#timed(() => page.drained())
      return
    }
    if (page && !this.#work(page)) return
    if (this.#endDue) {
      this.#endDue = false
      this.#end(this.#page!)
    } else if (this.#waiting) {
      this.#waiting = false
      this.#listener()
    }
  }

  #end(page: PageSink): void {
    this.#timed(() => {
      page.end()
      this.#releaseReserved()
    })
  }

  /** Handles a bug during the transfer of Markdown: the client must not mistake the part it has for the whole. */
  #broken(error: unknown): void {
    this.#context.reportBug(error)
    this.fail(error)
  }
}
