import zlib from 'node:zlib'
import t from 'tap'
import { NotConvertible } from '../../../pipelines/markdown/text/not-convertible.js'
import { silentLog } from '../../../src/core/log.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { CONVERSIONS } from '../../../src/core/schedule/turn-queue.js'
import type { ResponseSink, Stage } from '../../../src/edge/exchange/response.js'
import type { Exchange } from '../../../src/edge/exchange/exchange.js'
import type { RawHeaders } from '../../../src/http/headers.js'
import { markdownStage } from '../../../src/edge/markdown/stage.js'
import { MemoryBudget } from '../../../src/core/memory/memory-budget.js'

/*
 * The stage between a source and a sink that the test holds in its hands, with a converter that is easy to predict:
 * what matters here is which bytes go out and when. Real pages over real sockets: markdown.test.ts.
 */

export const LIMIT = 6_291_456

export const MEMORY = 64 * 1024 * 1024

/** Upper case; "boom" in an XHTML page is a mistake, in an HTML page it is ours. */
const shouting = (contentType: string, content: string) => ({
  write(html: Uint8Array): string {
    const text = Buffer.from(html).toString('latin1')
    if (text.includes('boom')) throw contentType.startsWith('text/html') ? new Error('bug') : new NotConvertible('boom')
    return text.toUpperCase()
  },
  end: () => (content === 'main' ? 'THE MAIN END' : 'THE END'),
})

export const shout = (html: Buffer): string => `${html.toString('latin1').toUpperCase()}THE END`

/** The client's end: accepts `window` chunks, then one more per request. */
class Client implements ResponseSink {
  readonly copies = true
  status = 0
  headers: Record<string, string | undefined> = {}
  readonly chunks: Buffer[] = []
  state: 'waiting' | 'open' | 'ended' | 'failed' = 'waiting'
  window = Infinity
  #blocked = false
  #listener = (): void => {}

  head(status: number, headers: RawHeaders): void {
    if (this.state !== 'waiting') throw new Error(`head when ${this.state}`)
    this.state = 'open'
    this.status = status
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i]!.toLowerCase()
      this.headers[name] = name in this.headers ? `${this.headers[name]!} | ${headers[i + 1]!}` : headers[i + 1]!
    }
  }

  data(chunk: Buffer): boolean {
    if (this.state !== 'open') throw new Error(`data when ${this.state}`)
    if (this.#blocked) throw new Error('data after "no more"')
    this.chunks.push(Buffer.from(chunk))
    this.#blocked = --this.window <= 0
    return !this.#blocked
  }

  end(): void {
    if (this.state !== 'open') throw new Error(`end when ${this.state}`)
    this.state = 'ended'
  }

  fail(): void {
    this.state = 'failed'
  }

  onDrain(listener: () => void): void {
    this.#listener = listener
  }

  /** Accepts more. */
  drain(chunks = 1): void {
    this.window = chunks
    if (!this.#blocked) return
    this.#blocked = false
    this.#listener()
  }

  get body(): Buffer {
    return Buffer.concat(this.chunks)
  }
}

export interface Case {
  readonly accept?: string | string[]
  readonly method?: string
  readonly on?: boolean
  readonly memory?: number
  readonly window?: number
  readonly content?: 'page' | 'main'
  /** Markdown is compressed without a rule. */
  readonly compresses?: boolean
  /** A stage of {@link busyStage}, for several responses. */
  readonly stage?: Stage
}

/** A stage whose converter needs the time of a turn for each chunk, so that others wait. */
export const busyStage = (): Stage =>
  markdownStage({
    memory: new MemoryBudget(MEMORY),
    metrics: openMetrics({ process: false }),
    log: silentLog,
    converter(contentType, content) {
      const converter = shouting(contentType, content)
      return {
        ...converter,
        write(html) {
          const until = performance.now() + CONVERSIONS.amount
          while (performance.now() < until);
          return converter.write(html)
        },
      }
    },
  })

/** A stage with a client behind it, and what a source does in front of it. */
export function stand({
  accept = 'text/markdown',
  method = 'GET',
  on = true,
  memory = MEMORY,
  window = Infinity,
  content,
  compresses = false,
  stage: shared,
}: Case = {}) {
  const budget = new MemoryBudget(memory)
  const metrics = openMetrics({ process: false })
  const stage = shared ?? markdownStage({ memory: budget, metrics, log: silentLog, converter: shouting })
  const client = new Client()
  client.window = window
  const exchange = {
    method,
    accept: [accept].flat().join(', '),
    rawHeaders: [accept].flat().flatMap((value) => ['Accept', value]),
    headers: ['Accept', [accept].flat().join(', '), 'If-None-Match', '"x"', 'Accept-Encoding', 'gzip'],
    decisions: { settings: { content_converter: on, content_converter_content: content } },
    caching: {},
    sent: {},
    origin: {},
    zone: { negotiation: 'listed', compressesMarkdown: compresses },
    settle: () => false,
  } as unknown as Exchange
  const sink = stage(exchange, client)

  let welcome: (() => void) | undefined
  sink.onDrain(() => {
    const then = welcome
    welcome = undefined
    then?.()
  })
  const send = async (chunk: Buffer): Promise<void> => {
    const memory = Buffer.from(chunk)
    const isOpen = sink.data(memory)
    // A source uses memory again if the sink copies what it retains.
    if (sink.copies) memory.fill('#')
    if (isOpen) return
    await new Promise<void>((resolve) => (welcome = resolve))
  }
  const outcome = async (): Promise<string | undefined> => {
    const { values } = await metrics.getSingleMetric('edged_markdown_pages_total')!.get()
    return values.find(({ value }) => value > 0)?.labels['outcome'] as string | undefined
  }
  /** Resolves when the client has the whole response, or has lost it. */
  const settled = async (): Promise<void> => {
    while (client.state !== 'ended' && client.state !== 'failed') {
      await new Promise((resolve) => setImmediate(resolve))
      client.drain()
    }
  }
  return { sink, client, exchange, budget, send, outcome, settled }
}

export const chunked = ['Content-Type', 'text/html; charset=utf-8']

export const withLength = (bytes: number) => [...chunked, 'Content-Length', String(bytes)]

export const encoded = (coding: string) => [...chunked, 'Content-Encoding', coding]

/** Returns the response to one whole body. */
export async function response(
  headers: string[],
  body: Buffer,
  { status = 200, piece = 16_384, ...rest }: Case & { status?: number; piece?: number } = {},
) {
  const all = stand(rest)
  all.sink.head(status, headers)
  const sent = (async () => {
    for (let at = 0; at < body.length; at += piece) await all.send(body.subarray(at, at + piece))
    all.sink.end()
  })()
  await Promise.all([sent, all.settled()])
  t.equal(all.budget.used, 0, 'everything held was let go of')
  const { status: sentStatus, headers: sentHeaders, body: sentBody } = all.client
  return { status: sentStatus, headers: sentHeaders, body: sentBody, outcome: await all.outcome() }
}

export const ENCODERS: [coding: string, encode: (body: Buffer) => Buffer][] = [
  ['gzip', (body) => zlib.gzipSync(body, { level: 1 })],
  ['x-gzip', (body) => zlib.gzipSync(body, { level: 1 })],
  ['GZIP', (body) => Buffer.concat([zlib.gzipSync(body.subarray(0, 9)), zlib.gzipSync(body.subarray(9))])],
  ['deflate', (body) => zlib.deflateSync(body, { level: 1 })],
  ['deflate', (body) => zlib.deflateRawSync(body, { level: 1 })],
  ['deflate', (body) => zlib.deflateRawSync(body, { level: 0 })],
  ['br', (body) => zlib.brotliCompressSync(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ['identity', (body) => body],
  ['gzip, deflate', (body) => zlib.deflateSync(zlib.gzipSync(body, { level: 1 }))],
  ['deflate, identity, br, gzip', (body) => zlib.gzipSync(zlib.brotliCompressSync(zlib.deflateRawSync(body)))],
]
if ('zstdCompressSync' in zlib)
  ENCODERS.push(['zstd', (body) => (zlib as unknown as { zstdCompressSync(b: Buffer): Buffer }).zstdCompressSync(body)])

export const PAGE = Buffer.from('<p>a page, </p>'.repeat(10_000))
