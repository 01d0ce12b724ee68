import { readFile, stat } from 'node:fs/promises'
import { messageOf } from '../../core/errors.js'
import { headerOf, withHeader, withoutHeader, type RawHeaders } from '../../http/headers.js'
import { hasTag, tagOf } from '../exchange/entity-tag.js'
import { siteFileOf, type SiteFile } from '../agents/site-files.js'
import { sendBody } from '../exchange/bytes-source.js'
import type { Exchange } from '../exchange/exchange.js'
import { requestIds } from '../exchange/request-ids.js'
import { ForwardingSink, type ResponseSink } from '../exchange/response.js'
import type { RequestBody } from '../client/request-body.js'
import { InternalClient } from '../client/internal-client.js'
import type { ClientResponse } from './client-response.js'
import type { ProxyContext } from './proxy-context.js'

/** Maximum bytes of a file of a site. */
const MAX_FILE = 1024 * 1024

/** A request that rules have passed. */
export interface SiteCall {
  readonly client: ClientResponse
  readonly exchange: Exchange
  readonly body: RequestBody | null
  readonly context: ProxyContext
}

interface SiteEndpoint {
  readonly isServed: boolean
  readonly wrap: (sink: ResponseSink) => ResponseSink
}

const same = (sink: ResponseSink): ResponseSink => sink
const OF_ORIGIN: SiteEndpoint = { isServed: false, wrap: same }
const SERVED: SiteEndpoint = { isServed: true, wrap: same }

/**
 * Responds to a request for an address that edged adds to a site. Returns false if it does not: then the origin responds,
 * and `wrap` is applied to its response.
 */
export function siteEndpoint<Call extends SiteCall>(call: Call, openSink: (call: Call) => ResponseSink): SiteEndpoint {
  const { client, exchange, body, context } = call
  const file = siteFileOf(exchange, context.version)
  if (!file) return OF_ORIGIN
  const open = () => openSink(call)
  if (file.kind === 'mcp') {
    // A tool of the MCP server does not call the server.
    if (client.connection instanceof InternalClient || !context.mcp) client.page({ status: 404 })
    else {
      const caller = {
        exchange,
        connection: client.connection,
        get: context.internalGet,
        cancels: new Set<() => void>(),
      }
      client.cancel = context.mcp.serve(caller, body, open())
    }
    return SERVED
  }
  if (exchange.method !== 'GET' && exchange.method !== 'HEAD') {
    client.page({ status: 405, headers: { allow: 'GET, HEAD' } })
    return SERVED
  }
  if (file.kind === 'origin') {
    exchange.target = file.from
    return { isServed: false, wrap: (sink) => new SiteFileResponse(sink, file) }
  }
  if (file.kind === 'text') sendFile(open(), exchange, { type: file.type, bytes: Buffer.from(file.text) })
  else
    void readSiteFile(file.from).then(
      (bytes) => sendFile(open(), exchange, { type: file.type, bytes, link: file.link }),
      (error: unknown) => {
        context.log.warn({
          event: 'site_file_failed',
          ...requestIds(exchange),
          file: file.from,
          reason: messageOf(error),
        })
        client.page({ status: 404 })
      },
    )
  return SERVED
}

function sendFile(
  sink: ResponseSink,
  { method, rawHeaders }: Exchange,
  { type, bytes, link }: { type: string; bytes: Buffer; link?: string | undefined },
): void {
  const tag = tagOf(bytes)
  const fields = [
    'content-type',
    type,
    'etag',
    tag,
    'cache-control',
    'max-age=3600',
    'access-control-allow-origin',
    '*',
  ]
  if (link !== undefined) fields.push('link', link)
  if (hasTag(rawHeaders, tag)) {
    sink.head(304, fields)
    sink.end()
    return
  }
  sink.head(200, [...fields, 'content-length', String(bytes.length)])
  sendBody(sink, method, bytes)
}

const FILES = new Map<string, { readonly changed: number; readonly size: number; readonly bytes: Buffer }>()

/** Reads a file, again only after it has changed. The configuration names the files. */
async function readSiteFile(path: string): Promise<Buffer> {
  const { mtimeMs: changed, size } = await stat(path)
  if (size > MAX_FILE) throw new Error(`has more than ${MAX_FILE} bytes`)
  const known = FILES.get(path)
  if (known?.changed === changed && known.size === size) return known.bytes
  const bytes = await readFile(path)
  FILES.set(path, { changed, size, bytes })
  return bytes
}

/** The response of an origin at an address that edged adds to its site. */
class SiteFileResponse extends ForwardingSink {
  readonly #file: Extract<SiteFile, { kind: 'file' | 'origin' }>

  constructor(next: ResponseSink, file: Extract<SiteFile, { kind: 'file' | 'origin' }>) {
    super(next)
    this.#file = file
  }

  override head(status: number, headers: RawHeaders): void {
    if (status !== 200) return this.next.head(status, headers)
    let fields = withHeader(headers, 'access-control-allow-origin', '*')
    const type = headerOf(fields, 'content-type') ?? ''
    if (!/json/i.test(type)) fields = withHeader(withoutHeader(fields, 'content-type'), 'content-type', this.#file.type)
    if (headerOf(fields, 'cache-control') === undefined) fields.push('cache-control', 'max-age=3600')
    if (this.#file.link !== undefined) fields.push('link', this.#file.link)
    this.next.head(status, fields)
  }
}
