import type { TurnQueue } from '../../core/schedule/turn-queue.js'
import { headerOf, type RawHeaders, withoutHeader } from '../../http/headers.js'
import { InvalidResponse } from '../../http/origin-errors.js'
import type { Exchange } from '../exchange/exchange.js'
import { CLIENT_LEFT, type OriginExchange } from '../exchange/origin-exchange.js'
import type { ResponseSink } from '../exchange/response.js'
import { isCurrent, type Span } from './delivery/conditions.js'
import { rangeText } from './delivery/multipart-ranges.js'
import { CacheRequest, unconditional } from './delivery/request.js'
import { notModifiedFields } from './fields.js'
import type { CacheStatus } from './entries/types.js'
import type { CacheCall, CacheShared } from './shared.js'
import { extentOf, PART_BYTES, type Extent } from './parts/content-range.js'
import { NoPart, PartResponse } from './parts/part-response.js'

/** The lookup of one part. */
interface PartLookup {
  run(): void
  cancel(): void
  /** Removes the response that the lookup sends from the cache. */
  discard(): void
}

/** A request for a range, and how the parts of the range are looked up. */
interface RangedParts {
  readonly call: CacheCall
  readonly request: CacheRequest
  readonly key: string
  readonly url: string
  readonly sink: ResponseSink
  readonly range: Span
  /** Creates the lookup of a part from the same facts as every other lookup. */
  readonly open: (parts: Omit<RangedParts, 'range' | 'open'>) => PartLookup
}

/**
 * Responds to a range of a response whose parts are stored separately, and sends the parts one after the other. All parts
 * have the same strong validator (RFC 9111, 3.4).
 */
export class RangedLookup implements CacheCall {
  readonly exchange: Exchange
  readonly hasBody = false
  readonly origin: string
  readonly turns: TurnQueue
  readonly #shared: CacheShared
  readonly #parts: RangedParts
  readonly #sink: ResponseSink
  /** The request of each part. */
  readonly #request: CacheRequest
  readonly #first: number
  /** The next byte for the client, and the byte after the last one. */
  #at: number
  #to: number
  /** Position of the next byte that arrives. */
  #position = 0
  /**
   * `relay`: the response is not a part, so the client gets the response as it is. `rest`: the rest of the range comes
   * from the origin and is not stored.
   */
  #mode: 'parts' | 'relay' | 'rest' = 'parts'
  /** The version of the response that is sent. Undefined before its head. */
  #extent: Extent | undefined
  #status: CacheStatus | undefined
  #lookup: PartLookup | undefined
  /** The lookup of the first part, which decides the version. */
  #leading: PartLookup | undefined
  #current: PartSink | undefined
  #cancelSent: (() => void) | undefined
  #drained: (() => void) | undefined

  constructor(shared: CacheShared, parts: RangedParts) {
    const { call, range, sink } = parts
    this.exchange = call.exchange
    this.origin = call.origin
    this.turns = call.turns
    this.#shared = shared
    this.#parts = parts
    this.#sink = sink
    this.#request = new CacheRequest(unconditional(call.exchange.headers))
    this.#first = range.from
    this.#at = range.from
    this.#to = range.to
    sink.onDrain(() => this.#drained?.())
  }

  /** Looks up the next part. */
  run(): void {
    const { open, url, key } = this.#parts
    const index = Math.floor(this.#at / PART_BYTES)
    this.#lookup = open({
      call: this,
      request: this.#request,
      key: `${key}\npart ${index}`,
      url,
      sink: this.#receive(),
    })
    this.#leading ??= this.#lookup
    this.#lookup.run()
  }

  /** The client left. */
  cancel(): void {
    this.#stop()
    this.#sink.fail(CLIENT_LEFT)
  }

  /** Limits count the request of the client. A response that has begun cannot be replaced. */
  isLimited(): boolean {
    return this.#extent === undefined && this.#parts.call.isLimited()
  }

  /** Sends a request for the current part. The request of the client itself means that the part cannot be stored. */
  send(request: OriginExchange, sink: ResponseSink): () => void {
    if (request !== this.exchange) return this.#sendForPart(request, sink)
    if (this.#extent) return this.#sendForRest(sink)
    this.#mode = 'relay'
    return this.#parts.call.send(request, sink)
  }

  #sendForPart(request: OriginExchange, sink: ResponseSink): () => void {
    const from = Math.floor(this.#at / PART_BYTES) * PART_BYTES
    const part = new PartResponse(sink, from)
    const cancel = this.#sendFor({ from, to: from + PART_BYTES }, request, request.headers, part)
    part.cancel = cancel
    return cancel
  }

  #sendForRest(sink: ResponseSink): () => void {
    this.#mode = 'rest'
    const { exchange } = this
    return this.#sendFor({ from: this.#at, to: this.#to }, exchange, unconditional(exchange.headers), sink)
  }

  #sendFor({ from, to }: Span, request: OriginExchange, headers: RawHeaders, sink: ResponseSink): () => void {
    const { target, clientShare, decisions, origin } = request
    const fields = [...headers, 'range', `bytes=${from}-${to - 1}`]
    return this.#parts.call.send({ method: 'GET', target, headers: fields, clientShare, decisions, origin }, sink)
  }

  /** Returns a sink for the next response. Earlier ones are not heard any more. */
  #receive(): PartSink {
    this.#drained = undefined
    this.#current = new PartSink(this.#sink.copies === true, {
      isCurrent: (sink) => sink === this.#current,
      head: (status, headers) => this.#head(status, headers),
      data: (chunk) => this.#data(chunk),
      end: (trailers) => this.#end(trailers),
      fail: (error) => this.#fail(error),
      onDrain: (listener) => (this.#drained = listener),
    })
    return this.#current
  }

  #head(status: number, headers: RawHeaders): void {
    const { caching } = this.exchange
    if (this.#mode === 'relay') {
      this.#sink.head(status, headers)
      return
    }
    const extent = status === (this.#mode === 'rest' ? 206 : 200) ? extentOf(headers) : undefined
    if (!this.#extent) {
      this.#begin(status, headers, extent)
      return
    }
    caching.status = this.#status
    const isSame = extent?.etag === this.#extent.etag && extent.total === this.#extent.total
    if (extent && isSame && extent.from <= this.#at) this.#position = extent.from
    else if (extent && this.#mode === 'parts') this.#replaceByRest()
    else {
      if (extent) this.#leading?.discard()
      this.#fail(new InvalidResponse('the response changed while its parts were sent'))
    }
  }

  /** Sends the head for the client. */
  #begin(status: number, headers: RawHeaders, extent: Extent | undefined): void {
    const { caching } = this.exchange
    if (!extent) {
      this.#mode = 'relay'
      this.#sink.head(status, headers)
      return
    }
    const { request, key } = this.#parts
    const { etag, total } = extent
    if (
      request.ifRange !== undefined &&
      !isCurrent(request.ifRange, { etag, lastModified: headerOf(headers, 'last-modified') })
    ) {
      this.#relay()
      return
    }
    this.#shared.large.add(key)
    this.#extent = extent
    this.#position = extent.from
    this.#to = Math.min(this.#to, total)
    this.#status = caching.status
    caching.response = undefined
    const fields = withoutHeader(withoutHeader(headers, 'content-length'), 'content-range')
    if (this.#at >= total) {
      caching.responseStatus = 416
      this.#sink.head(416, [...notModifiedFields(fields), 'content-range', `bytes */${total}`, 'content-length', '0'])
      this.#finish()
      return
    }
    const span = { from: this.#at, to: this.#to }
    caching.responseStatus = 206
    fields.push('content-range', rangeText(span, total), 'content-length', String(span.to - span.from))
    this.#sink.head(206, fields)
  }

  #data(chunk: Buffer): boolean {
    if (this.#mode === 'relay') return this.#sink.data(chunk)
    const start = this.#position
    this.#position += chunk.length
    const to = Math.min(this.#to, this.#position)
    if (this.#at >= to) return true
    const wanted = chunk.subarray(this.#at - start, to - start)
    this.#at = to
    const isOpen = this.#sink.data(wanted)
    if (this.#at === this.#to) this.#finish()
    return isOpen
  }

  #end(trailers: RawHeaders | undefined): void {
    if (this.#mode === 'relay') {
      this.#stop()
      this.#sink.end(trailers)
    } else if (this.#mode === 'parts' && this.#at === this.#position) {
      this.#current = undefined
      // Not within the calls of the last part, which would nest as deep as the number of parts.
      process.nextTick(() => {
        if (this.#lookup) this.run()
      })
    } else this.#fail(new InvalidResponse('the response is shorter than its range'))
  }

  #fail(error: unknown): void {
    if (error instanceof NoPart && !this.#extent) {
      this.#shared.large.delete(this.#parts.key)
      this.#shared.marks.add(this.#parts.key)
      this.#relay()
      return
    }
    this.#stop()
    this.#sink.fail(error)
  }

  /** Sends the request of the client to the origin as it is. */
  #relay(): void {
    this.#stop()
    this.#mode = 'relay'
    this.exchange.caching.status = 'MISS'
    this.#cancelSent = this.#parts.call.send(this.exchange, this.#receive())
  }

  /** The stored part is one of another version. */
  #replaceByRest(): void {
    this.#lookup?.discard()
    this.#stop()
    this.#cancelSent = this.#sendForRest(this.#receive())
  }

  #finish(): void {
    this.#stop()
    this.exchange.caching.bytes = this.#at - this.#first
    this.#sink.end()
  }

  /** Ends what is sent now, after the calls that are in progress. */
  #stop(): void {
    const [lookup, cancelSent] = [this.#lookup, this.#cancelSent]
    this.#current = undefined
    this.#lookup = undefined
    this.#cancelSent = undefined
    process.nextTick(() => {
      lookup?.cancel()
      cancelSent?.()
    })
  }
}

interface PartEvents extends Omit<ResponseSink, 'copies'> {
  isCurrent(sink: PartSink): boolean
}

/** Receives one part. Calls after another part began have no effect. */
class PartSink implements ResponseSink {
  readonly copies: boolean
  readonly #events: PartEvents

  constructor(copies: boolean, events: PartEvents) {
    this.copies = copies
    this.#events = events
  }

  head(status: number, headers: RawHeaders): void {
    if (this.#events.isCurrent(this)) this.#events.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    return !this.#events.isCurrent(this) || this.#events.data(chunk)
  }

  end(trailers?: RawHeaders): void {
    if (this.#events.isCurrent(this)) this.#events.end(trailers)
  }

  fail(error: unknown): void {
    if (this.#events.isCurrent(this)) this.#events.fail(error)
  }

  onDrain(listener: () => void): void {
    if (this.#events.isCurrent(this)) this.#events.onDrain(listener)
  }
}
