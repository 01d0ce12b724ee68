import { LRUCache } from 'lru-cache'
import type { Clock } from '../../core/clock.js'
import { select } from '../../edge/cache/delivery/conditions.js'
import { judge } from '../../edge/cache/entries/policy.js'
import { CacheRequest } from '../../edge/cache/delivery/request.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { ResourceCall, ResourceHandler, ResourceResponse } from '../../workers/runtime/resource-server.js'

/** One object takes at most this share of the memory. */
const MAX_SHARE = 1 / 8
/** Bytes of an entry besides its fields and body. */
const OVERHEAD = 512
const HEAD_END = Buffer.from('\r\n\r\n')
const MAX_FIELDS = 256
/** Fields that describe the connection, or that the server sets itself. */
const DROPPED = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'age', 'cf-cache-status'])

interface Entry {
  readonly status: number
  readonly fields: RawHeaders
  readonly body: Buffer
  /** On the clock's `monotonic` scale. */
  readonly storedAt: number
  /** Seconds. */
  readonly age: number
  readonly lifetime: number
}

const MISS: ResourceResponse = { status: 504, headers: { 'cf-cache-status': 'MISS' } }
const NOT_STORED: ResourceResponse = { status: 413, message: 'the response must not be stored' }

/**
 * The Cache API of scripts. Responses are kept in memory as RFC 9111 allows for a shared cache, separately for each
 * account, at most `maxBytes` of all together; the least recently used ones leave first. A response without a lifetime
 * gets the one of static files.
 */
export function cacheResource({ clock, maxBytes }: { clock: Clock; maxBytes: number }): ResourceHandler {
  const entries = new LRUCache<string, Entry>({ maxSize: Math.max(1, maxBytes), sizeCalculation: sizeOf })
  const put = async (key: string, call: ResourceCall): Promise<ResourceResponse> => {
    const parsed = parseResponse(await call.body(Math.floor(maxBytes * MAX_SHARE)))
    if (!parsed) return { status: 400, message: 'not an HTTP response' }
    const { status, fields, body } = parsed
    const answer = { status, headers: fields, edgeControl: undefined, arrivedAt: clock.now(), delay: 0 }
    const terms = { hasDefault: true, settings: undefined, target: call.url, authorization: false }
    const verdict = judge(answer, terms)
    if (!verdict.store || verdict.freshness.lifetime <= verdict.freshness.age) return NOT_STORED
    const kept = fields.flatMap((name, i) =>
      i % 2 === 1 || DROPPED.has(name.toLowerCase()) || verdict.omitted.has(name.toLowerCase())
        ? []
        : [name, fields[i + 1]!],
    )
    const { age, lifetime } = verdict.freshness
    entries.set(key, { status, fields: kept, body, storedAt: clock.monotonic(), age, lifetime })
    return { status: 204 }
  }
  const match = (key: string, { headers, method }: ResourceCall): ResourceResponse => {
    const entry = entries.get(key)
    const age = entry ? entry.age + (clock.monotonic() - entry.storedAt) / 1000 : 0
    if (!entry || age >= entry.lifetime) {
      entries.delete(key)
      return MISS
    }
    return respond(entry, method, {
      age: Math.floor(age),
      request: new CacheRequest(Object.entries(headers).flatMap(([name, value]) => [name, String(value)])),
    })
  }
  return async (call) => {
    const { scope, headers, method, url } = call
    const key = JSON.stringify([scope.id, headers['cf-cache-namespace'] ?? '', headers.host ?? '', url])
    if (method === 'PUT') return await put(key, call)
    if (method === 'PURGE') return { status: entries.delete(key) ? 200 : 404 }
    return match(key, call)
  }
}

function respond(entry: Entry, method: string, { age, request }: { age: number; request: CacheRequest }) {
  const { status, fields, body } = entry
  const selected = select(request, {
    status,
    method,
    length: body.length,
    etag: headerOf(fields, 'etag'),
    lastModified: headerOf(fields, 'last-modified'),
  })
  const headers: Record<string, string> = { 'cf-cache-status': 'HIT', age: String(age) }
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i]!.toLowerCase()
    headers[name] = name in headers ? `${headers[name]}, ${fields[i + 1]!}` : fields[i + 1]!
  }
  if (selected.kind === 'not_modified') return { status: 304, headers }
  if (selected.kind === 'precondition_failed') return { status: 412, headers }
  if (selected.kind === 'unsatisfiable')
    return { status: 416, headers: { ...headers, 'content-range': `bytes */${body.length}` } }
  const [part] = selected.kind === 'parts' && selected.parts.length === 1 ? selected.parts : []
  if (!part) return { status, headers, body }
  const range = `bytes ${part.from}-${part.to - 1}/${body.length}`
  return { status: 206, headers: { ...headers, 'content-range': range }, body: body.subarray(part.from, part.to) }
}

/** Reads the whole response that the runtime sends as the body of a PUT. Undefined if it is malformed. */
function parseResponse(bytes: Buffer): { status: number; fields: string[]; body: Buffer } | undefined {
  const end = bytes.indexOf(HEAD_END)
  if (end < 0) return undefined
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1])
  if (!(status >= 200) || lines.length > MAX_FIELDS) return undefined
  const fields = lines.flatMap((line) => {
    const colon = line.indexOf(':')
    return colon > 0 ? [line.slice(0, colon), line.slice(colon + 1).trim()] : []
  })
  // A copy: the rest of the request must not stay in memory. The runtime names `chunked` without using that framing.
  return { status, fields, body: Buffer.from(bytes.subarray(end + HEAD_END.length)) }
}

const sizeOf = ({ fields, body }: Entry): number =>
  OVERHEAD + body.length + fields.reduce((sum, text) => sum + text.length + 16, 0)
