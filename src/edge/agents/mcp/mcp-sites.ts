import type { Readable } from 'node:stream'
import type { Clock } from '../../../core/clock.js'
import { messageOf } from '../../../core/errors.js'
import { headerOf, headerValues } from '../../../http/headers.js'
import { shareOf } from '../../client/client-address.js'
import { sendBody } from '../../exchange/bytes-source.js'
import type { Exchange } from '../../exchange/exchange.js'
import type { ResponseSink } from '../../exchange/response.js'
import { hostOf, siteOf } from '../../exchange/site.js'
import { CallLimits } from './call-limits.js'
import { ListedPages } from './listed-pages.js'
import { siteKey } from './observed-page.js'
import type { PageIndex } from './page-index.js'
import { failed, received, type McpResponse, type McpServer, type ToolCall } from './protocol.js'
import { serverName } from './server-name.js'
import { partOf, readPage, ToolError, type Caller } from './read-page.js'
import { DEFAULT_RESULTS, MAX_QUERY, MAX_RESULTS } from './tools.js'

const MAX_BODY = 64 * 1024
/** Error of a client that calls too often. */
const TOO_MANY = -32000
/** JSON-RPC 2.0, 5.1. */
const INTERNAL_ERROR = -32603

type Respond = (response: McpResponse, headers?: string[]) => void

export interface McpDeps {
  readonly index: PageIndex
  readonly clock: Clock
  readonly version: string
  /** Returns whether the rules of the site let the client of a request read another page. */
  readonly mayRead: (caller: Caller, target: string) => boolean
  readonly report: (exchange: Exchange, error: unknown) => void
}

/** MCP servers of sites, with tools that read and search their pages. https://modelcontextprotocol.io */
export class McpSites {
  readonly #deps: McpDeps
  readonly #limits: CallLimits
  readonly #listed: ListedPages

  constructor(deps: McpDeps) {
    this.#deps = deps
    const monotonic = () => deps.clock.monotonic()
    this.#limits = new CallLimits(monotonic)
    this.#listed = new ListedPages(deps.index, monotonic)
  }

  /** Responds to a request. Returns the function that ends its work. */
  serve(caller: Caller, body: Readable | null, sink: ResponseSink): () => void {
    const { exchange, cancels } = caller
    const refusal = refusalOf(exchange)
    if (refusal) {
      send(sink, exchange, refusal.response, refusal.headers)
      return () => undefined
    }
    let isOver = false
    readText(body, (text) => {
      if (isOver) return
      const respond: Respond = (response, headers) => {
        if (!isOver) send(sink, exchange, response, headers)
      }
      if (text === undefined) respond(failed(413, TOO_MANY, `a message has at most ${MAX_BODY} bytes`))
      else this.#receive(caller, text, respond)
    })
    return () => {
      isOver = true
      for (const cancel of cancels) cancel()
      cancels.clear()
    }
  }

  /** A fault of this code ends one request, and not the process. */
  #receive(caller: Caller, text: string, respond: Respond): void {
    try {
      this.#received(caller, text, respond)
    } catch (error) {
      this.#deps.report(caller.exchange, error)
      respond(failed(500, INTERNAL_ERROR, 'internal error'))
    }
  }

  #received(caller: Caller, text: string, respond: Respond): void {
    const { exchange } = caller
    const message = received(text, exchange.rawHeaders, this.#serverOf(exchange))
    if (!('tool' in message)) return respond(message)
    const address = shareOf(exchange.clientAddress)
    const wait = this.#limits.begin(address)
    if (wait !== undefined)
      return respond(failed(429, TOO_MANY, `too many calls; try again in ${wait} s`), ['retry-after', String(wait)])
    void this.#call(caller, message)
      .catch((error: unknown) => {
        if (!(error instanceof ToolError)) this.#deps.report(exchange, error)
        const problem = error instanceof ToolError ? messageOf(error) : 'internal error'
        return message.respond({ content: [{ type: 'text', text: problem }], isError: true })
      })
      .then((response) => respond(response))
      .catch((error: unknown) => this.#deps.report(exchange, error))
      .finally(() => this.#limits.end(address))
  }

  async #call(caller: Caller, { tool, given, respond, refuse }: ToolCall): Promise<McpResponse> {
    return tool === 'fetch'
      ? await this.#fetch(caller, given, { respond, refuse })
      : await this.#search(caller, given, { respond, refuse })
  }

  async #fetch(
    caller: Caller,
    { path, url, id, offset = 0 }: ToolCall['given'],
    { respond, refuse }: Pick<ToolCall, 'respond' | 'refuse'>,
  ): Promise<McpResponse> {
    const addresses = [path, url, id].filter((address) => address !== undefined)
    const [address] = addresses
    if (addresses.length !== 1 || typeof address !== 'string')
      return refuse('give one of path, url and id, as a string')
    if (path !== undefined && !address.startsWith('/')) return refuse('path must begin with /')
    if (typeof offset !== 'number' || !Number.isSafeInteger(offset) || offset < 0)
      return refuse('offset must be a number of characters')
    const page = await readPage(caller, address)
    const text = partOf(page, offset)
    const { target, url: found, title, charged } = page
    const response = respond({
      content: [{ type: 'text', text }],
      structuredContent: { id: target, title, url: found, text },
    })
    return charged === undefined ? response : { ...response, headers: ['crawler-charged', charged] }
  }

  async #search(
    caller: Caller,
    { query, limit = DEFAULT_RESULTS }: ToolCall['given'],
    { respond, refuse }: Pick<ToolCall, 'respond' | 'refuse'>,
  ): Promise<McpResponse> {
    if (typeof query !== 'string' || query.length > MAX_QUERY)
      return refuse(`query must be a string of at most ${MAX_QUERY} characters`)
    if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MAX_RESULTS)
      return refuse(`limit must be a number from 1 to ${MAX_RESULTS}`)
    const { exchange } = caller
    await this.#listed.know(caller)
    const site = siteOf(exchange)
    const results = this.#deps.index
      .search(siteKey(exchange), query, 2 * MAX_RESULTS)
      .filter(({ path }) => this.#deps.mayRead(caller, path))
      .slice(0, limit)
      .map(({ path, title, snippet }) => ({ id: path, title, url: site + path, snippet }))
    return respond({
      content: [{ type: 'text', text: JSON.stringify({ results }) }],
      structuredContent: { results },
    })
  }

  #serverOf(exchange: Exchange): McpServer {
    const host = hostOf(exchange)
    return {
      name: serverName(host),
      title: host,
      version: this.#deps.version,
      instructions: `Pages of ${host} as Markdown. Find pages with search, and read them with fetch.`,
    }
  }
}

interface Refused {
  readonly response: McpResponse
  readonly headers?: string[]
}

/** Returns the response to a request that is not a message of a client of this site. */
function refusalOf(exchange: Exchange): Refused | undefined {
  const { method, rawHeaders } = exchange
  if (method !== 'POST')
    return { response: failed(405, TOO_MANY, 'send messages with POST'), headers: ['allow', 'POST'] }
  // Pages of other sites must not use the browser of a person to read this one.
  const origins = headerValues(rawHeaders, 'origin')
  if (origins.some((origin) => !URL.canParse(origin) || new URL(origin).host !== new URL(siteOf(exchange)).host))
    return { response: failed(403, TOO_MANY, 'requests of pages of other sites are not allowed') }
  const type = headerOf(rawHeaders, 'content-type') ?? ''
  if (!/^application\/json\s*(?:;|$)/i.test(type))
    return { response: failed(415, TOO_MANY, 'the content type must be application/json') }
  return undefined
}

function send(
  sink: ResponseSink,
  { method }: Exchange,
  { status, body, headers: own = [] }: McpResponse,
  headers: string[] = [],
): void {
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body))
  const type = body === undefined ? [] : ['content-type', 'application/json']
  sink.head(status, [...type, 'cache-control', 'no-store', 'content-length', String(bytes.length), ...own, ...headers])
  sendBody(sink, method, bytes)
}

/** Reads a body, undefined if it is too long. */
function readText(body: Readable | null, done: (text: string | undefined) => void): void {
  if (body === null) return done('')
  const chunks: Buffer[] = []
  let size = 0
  body.on('data', (chunk: Buffer) => {
    if (size > MAX_BODY) return
    size += chunk.length
    if (size <= MAX_BODY) chunks.push(chunk)
    else done(undefined)
  })
  body.on('end', () => {
    if (size <= MAX_BODY) done(Buffer.concat(chunks).toString())
  })
}
