import { AssetResponse } from '../assets/asset-response.js'
import { FolderSite } from '../assets/folder.js'
import type { FolderOptions } from '../exchange/folder-options.js'
import { withCacheStatus } from '../cache/fields.js'
import type { Exchange } from '../exchange/exchange.js'
import { normalTarget } from '../exchange/normal-path.js'
import type { OriginExchange } from '../exchange/origin-exchange.js'
import { strippedTarget } from '../exchange/paths.js'
import type { ResponseSink } from '../exchange/response.js'
import { headerOf, withHeader, type RawHeaders } from '../../http/headers.js'
import type { AssetFile } from '../../workers/assets/files.js'
import type { ProxyContext } from './proxy-context.js'

/** Folders by their options, which stay the same objects while their zone does. */
const folders = new WeakMap<FolderOptions, FolderSite>()

function opened(options: FolderOptions): FolderSite {
  const known = folders.get(options)
  if (known) return known
  const site = new FolderSite(options)
  folders.set(options, site)
  return site
}

/** Returns the request as the origin of a path gets it, without the prefix that the path strips. */
export function pathRequest(request: OriginExchange, { place }: Pick<Exchange, 'place'>): OriginExchange {
  const { strip } = place ?? {}
  if (strip === undefined) return request
  const { method, headers, clientShare, decisions, caching, origin } = request
  return {
    method,
    target: stripped(request.target, strip),
    headers,
    clientShare,
    decisions,
    ...(caching && { caching }),
    origin,
  }
}

/** The path is matched in its plain form, so the prefix is removed from it in any form. */
function stripped(target: string, prefix: string): string {
  const plain = strippedTarget(target, prefix)
  return plain === target ? strippedTarget(normalTarget(target, { type: 'cloudflare', scope: 'both' }), prefix) : plain
}

/** Sends a file of the folder of the path. Returns what cancels it. */
export function sendFile(
  request: OriginExchange,
  to: ResponseSink,
  exchange: Exchange,
  { clock }: ProxyContext,
): () => void {
  const { root, strip = '' } = exchange.place!
  if (!root) throw new Error('the path has no folder')
  const site = opened(root)
  const { host } = exchange
  const { method, target, headers } = pathRequest(request, exchange)
  request.origin.url = `file:${root.folder}`
  const sink = new FileSink(request, to)
  let response: AssetResponse | undefined
  let isOver = false
  const respond = async (): Promise<void> => {
    try {
      const found = await site.decide({ method, host, target, navigates: false }, clock.monotonic())
      if (isOver) return
      const isHere = found.kind === 'redirect' && found.location.startsWith('/')
      const decision = isHere ? { ...found, location: strip + found.location } : found
      const parts = { decide: () => decision, headers: site.headers.bind(site) }
      const open = async (file: AssetFile) => await site.open(file)
      const field = (name: string) => headerOf(headers, name)
      response = new AssetResponse(parts, { method, host, target, headers: [...headers], field }, sink, {
        open,
        // Caddy and nginx set none either.
        withoutLifetime: root.html === 'exact',
      })
      response.send()
    } catch (error) {
      sink.fail(error)
    }
  }
  void respond()
  return () => {
    isOver = true
    response?.cancel()
  }
}

/** Notes the response as a response of an origin, and adds the status of the cache. */
class FileSink implements ResponseSink {
  readonly #request: OriginExchange
  readonly #next: ResponseSink

  constructor(request: OriginExchange, next: ResponseSink) {
    this.#request = request
    this.#next = next
  }

  head(status: number, fields: RawHeaders): void {
    const { origin, caching } = this.#request
    origin.status = status
    origin.headers = fields
    const cached = caching?.status
    if (cached === undefined) this.#next.head(status, fields)
    else if (cached === 'DYNAMIC') this.#next.head(status, withHeader(fields, 'cf-cache-status', cached))
    else this.#next.head(status, withCacheStatus(fields, { status: cached, originStatus: status }))
  }

  data(chunk: Buffer): boolean {
    this.#request.origin.bytes += chunk.length
    return this.#next.data(chunk)
  }

  end(): void {
    this.#next.end()
  }

  fail(error: unknown): void {
    this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    this.#next.onDrain(listener)
  }
}
