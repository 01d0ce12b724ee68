import { HeldBytes, type MemoryBudget } from '../../../core/memory/memory-budget.js'
import { headerOf, headerValues, type RawHeaders } from '../../../http/headers.js'
import { members } from '../../../http/accept.js'
import { CODINGS, codingsToUndo, Decoders } from '../../exchange/content-coding.js'
import { forWhole } from '../../exchange/entity-tag.js'
import type { Exchange } from '../../exchange/exchange.js'
import type { ResponseSink } from '../../exchange/response.js'
import { addressInFields, comesFrom, otherPage, pageAddress } from './canonical-address.js'
import { CanonicalLink, type WrittenAddress } from './canonical-link.js'
import type { CanonicalPages } from './canonical-pages.js'

/** Maximum bytes of a page in which its canonical address is found, as received and decoded. */
const MAX_BYTES = 256 * 1024

export interface CanonicalDeps {
  readonly memory: MemoryBudget
  readonly pages: CanonicalPages
}

/** Returns whether an agent is sent to the canonical page. */
export const isForCanonical = ({ agentAction, method, alias }: Exchange): boolean =>
  agentAction === 'canonical' && (method === 'GET' || method === 'HEAD') && alias?.type !== 'llms_txt'

/**
 * Creates the sink of a response to an agent that is sent to the canonical address of a page: 301, if the page names another
 * one of this host. The beginning of the page is held until its head ends. Other responses pass unchanged.
 */
export function canonicalResponse(next: ResponseSink, exchange: Exchange, deps: CanonicalDeps): ResponseSink {
  const page = pageAddress(exchange)
  if (page === undefined) return next
  // A part of the page, or a response without it, does not name the address.
  exchange.headers = forWhole(exchange.headers, codingsThatDecode(exchange.rawHeaders))
  return new CanonicalResponse(next, exchange, { ...deps, page })
}

/** Returns the Accept-Encoding of a request without the codings that cannot be decoded here. */
function codingsThatDecode(headers: RawHeaders): string {
  const accepted = headerValues(headers, 'accept-encoding').flatMap((value) => [...members(value)])
  return (
    accepted.filter((member) => CODINGS.has(member.split(';', 1)[0]!.trim().toLowerCase())).join(', ') || 'identity'
  )
}

class CanonicalResponse implements ResponseSink {
  readonly copies: boolean
  readonly #next: ResponseSink
  readonly #exchange: Exchange
  readonly #pages: CanonicalPages
  readonly #page: string
  readonly #held: HeldBytes
  #state: 'holding' | 'passing' | 'over' = 'passing'
  #head: { readonly status: number; readonly headers: RawHeaders } | undefined
  #link: CanonicalLink | undefined
  #decoders: Decoders | undefined
  #decoded = 0
  #ending: { readonly trailers: RawHeaders | undefined } | undefined
  /** `data` has returned false because the decoder is behind. */
  #isWaiting = false
  #listener = (): void => {}

  constructor(next: ResponseSink, exchange: Exchange, { memory, pages, page }: CanonicalDeps & { page: string }) {
    this.copies = next.copies === true
    this.#next = next
    this.#exchange = exchange
    this.#pages = pages
    this.#page = page
    this.#held = new HeldBytes(memory)
    next.onDrain(() => {
      if (this.#state === 'passing') this.#listener()
    })
  }

  head(status: number, headers: RawHeaders): void {
    const type = headerOf(headers, 'content-type') ?? ''
    const codings = codingsToUndo(headerValues(headers, 'content-encoding').join(','))
    if (status !== 200 || !/^text\/html\s*(?:;|$)/i.test(type)) return this.#next.head(status, headers)
    this.#head = { status, headers }
    this.#state = 'holding'
    const named = addressInFields(headers)
    if (named !== undefined) return this.#decide(named)
    // A GET before has found the address.
    if (this.#exchange.method === 'HEAD') return this.#redirect(this.#pages.of(this.#page))
    if (codings === undefined) return this.#pass()
    this.#link = new CanonicalLink(type)
    if (codings.length === 0) return
    const decoded = {
      write: (bytes: Uint8Array) => this.#read(bytes),
      end: () => this.#finish(),
      fail: () => this.#pass(),
    }
    this.#decoders = new Decoders(codings, decoded, () => this.#drained(), Infinity)
  }

  data(chunk: Buffer): boolean {
    if (this.#state === 'over') return true
    if (this.#state === 'passing') return this.#next.data(chunk)
    if (this.#held.length + chunk.length > MAX_BYTES || !this.#held.append(chunk)) {
      this.#pass()
      return this.#next.data(chunk)
    }
    if (!this.#decoders) {
      this.#read(chunk)
      return true
    }
    // The decoder reads the bytes later.
    this.#isWaiting = !this.#decoders.write(this.copies ? Buffer.from(chunk) : chunk)
    return !this.#isWaiting
  }

  end(trailers?: RawHeaders): void {
    if (this.#state === 'over') return
    if (this.#state === 'passing') return this.#next.end(trailers)
    this.#ending = { trailers }
    if (this.#decoders && this.#held.length > 0) this.#decoders.end()
    else this.#finish()
  }

  fail(error: unknown): void {
    this.#state = 'over'
    this.#decoders?.destroy()
    this.#held.release()
    this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    this.#listener = listener
  }

  /** Reads the next bytes of the page. Returns false if no more are needed. */
  #read(bytes: Uint8Array): boolean {
    const link = this.#link
    if (this.#state !== 'holding' || !link) return false
    this.#decoded += bytes.length
    link.write(bytes)
    if (link.isOver || this.#decoded > MAX_BYTES) this.#decide(link.found)
    return this.#state === 'holding'
  }

  #finish(): void {
    if (this.#state !== 'holding') return
    this.#link?.end()
    this.#decide(this.#link?.found)
  }

  #decide(named: WrittenAddress | undefined): void {
    const canonical = named && otherPage(this.#page, named)
    this.#pages.saw(this.#page, canonical)
    this.#redirect(canonical)
  }

  #redirect(canonical: string | undefined): void {
    const isCircle =
      canonical !== undefined && (this.#pages.leads(canonical, this.#page) || comesFrom(this.#exchange, canonical))
    if (canonical === undefined || isCircle) return this.#pass()
    this.#state = 'over'
    this.#held.release()
    this.#decoders?.destroy()
    this.#exchange.caching.response = undefined
    // The page is another one for other clients.
    const fields = ['location', canonical, 'cache-control', 'private', 'vary', 'user-agent', 'content-length', '0']
    this.#next.head(301, fields)
    this.#next.end()
  }

  /** Sends the page. */
  #pass(): void {
    if (this.#state !== 'holding' || !this.#head) return
    this.#state = 'passing'
    this.#decoders?.destroy()
    this.#next.head(this.#head.status, this.#head.headers)
    let isOpen = true
    for (let held = this.#held.shift(); held; held = this.#held.shift()) isOpen = this.#next.data(held) && isOpen
    this.#held.release()
    if (this.#ending) this.#next.end(this.#ending.trailers)
    else if (isOpen) this.#drained()
  }

  #drained(): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    this.#listener()
  }
}
