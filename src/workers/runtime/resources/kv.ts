import { KV_NAMESPACES } from '../../../core/model/storage.js'
import type { Clock } from '../../../core/clock.js'
import type { Store } from '../../../core/store.js'
import { KV_LIMITS, NoNamespace, TooManyKeys, type KeyValues } from '../../storage/key-values.js'
import { ResourceError, type ResourceCall, type ResourceHandler, type ResourceResponse } from '../resource-server.js'

const MAX_LIST = 1000
const MAX_BULK = 100
const MAX_BULK_BODY_BYTES = 1024 * 1024
const MIN_TTL_SECONDS = 60
const MIN_CACHE_TTL_SECONDS = 30

export interface KvDeps {
  readonly store: Store
  readonly clock: Clock
  readonly values: KeyValues
}

/** KV namespaces as the runtime reads and writes them. */
export function kvResource({ store, clock, values }: KvDeps): ResourceHandler {
  const read = async (call: ResourceCall, key: string, query: URLSearchParams): Promise<ResourceResponse> => {
    checkCacheTtl(query.get('cache_ttl'))
    const found = values.find(call.scope, call.id, key)
    if (!found) return { status: 404, message: 'Not Found' }
    const { metadata } = found
    return {
      status: 200,
      headers: metadata === undefined ? {} : { 'cf-kv-metadata': asciiJson(metadata) },
      body: await values.bytes(found),
    }
  }

  const readBulk = async (call: ResourceCall): Promise<ResourceResponse> => {
    const { keys, type = 'text', withMetadata, cacheTtl } = parsed(await call.body(MAX_BULK_BODY_BYTES)) as BulkGet
    if (!Array.isArray(keys) || keys.length === 0 || keys.length > MAX_BULK)
      throw new ResourceError(400, `1 to ${MAX_BULK} keys can be read at once`)
    if (type !== 'text' && type !== 'json') throw new ResourceError(400, `"${type}" is not "text" or "json"`)
    checkCacheTtl(cacheTtl)
    const entries = keys.map(async (key): Promise<[string, unknown]> => {
      const found = values.find(call.scope, call.id, String(key))
      if (!found) return [key, null]
      const text = (await values.bytes(found)).toString('utf8')
      const value: unknown = type === 'json' ? parsed(Buffer.from(text)) : text
      return [key, withMetadata === true ? { value, metadata: found.metadata ?? null } : value]
    })
    return json(Object.fromEntries(await Promise.all(entries)))
  }

  const write = async (call: ResourceCall, key: string, query: URLSearchParams): Promise<ResourceResponse> => {
    const metadata = call.headers['cf-kv-metadata']
    if (metadata !== undefined && Buffer.byteLength(String(metadata), 'latin1') > KV_LIMITS.metadata)
      throw new ResourceError(413, `metadata is larger than ${KV_LIMITS.metadata} bytes`)
    const expiration = expirationOf(query, Math.floor(clock.now() / 1000))
    const bytes = await call.body(KV_LIMITS.value)
    await values.put(call.scope, call.id, [
      {
        key,
        bytes,
        ...(expiration !== undefined && { expiration }),
        ...(metadata !== undefined && { metadata: parsed(Buffer.from(String(metadata), 'latin1')) }),
      },
    ])
    return { status: 200 }
  }

  const list = (call: ResourceCall, query: URLSearchParams): ResourceResponse => {
    const limit = Number(query.get('key_count_limit') ?? MAX_LIST)
    if (!(limit >= 1 && limit <= MAX_LIST)) throw new ResourceError(400, `limit must be 1 to ${MAX_LIST}`)
    const cursor = query.get('cursor')
    const after = cursor === null || cursor === '' ? undefined : Buffer.from(cursor, 'base64url').toString('utf8')
    const { keys, more } = values.list(call.scope, call.id, { prefix: query.get('prefix') ?? undefined, after, limit })
    const last = keys.at(-1)?.name
    return json({
      // The runtime parses metadata itself.
      keys: keys.map(({ metadata, ...key }) => ({
        ...key,
        ...(metadata !== undefined && { metadata: JSON.stringify(metadata) }),
      })),
      list_complete: !more,
      ...(more && last !== undefined && { cursor: Buffer.from(last).toString('base64url') }),
      cacheStatus: null,
    })
  }

  return async (call) => {
    if (!store.get(KV_NAMESPACES, call.scope, call.id))
      throw new ResourceError(404, `the KV namespace ${call.id} does not exist`)
    const { path, query } = target(call.url)
    const key = decoded(path)
    if (Buffer.byteLength(key) > KV_LIMITS.key)
      throw new ResourceError(414, `key is longer than ${KV_LIMITS.key} bytes`)
    try {
      if (call.method === 'POST' && path === 'bulk/get') return await readBulk(call)
      if (call.method === 'GET') return path === '' ? list(call, query) : await read(call, key, query)
      if (call.method === 'PUT') return await write(call, key, query)
      if (call.method === 'DELETE') {
        await values.remove(call.scope, call.id, [key])
        return { status: 200 }
      }
    } catch (error) {
      if (error instanceof TooManyKeys) throw new ResourceError(429, error.message)
      if (error instanceof NoNamespace) throw new ResourceError(404, 'the KV namespace was deleted')
      throw error
    }
    throw new ResourceError(405, 'Method Not Allowed')
  }
}

interface BulkGet {
  readonly keys?: readonly string[]
  readonly type?: string
  readonly withMetadata?: boolean
  readonly cacheTtl?: unknown
}

const json = (value: unknown): ResourceResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
})

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch {
    throw new ResourceError(400, 'not valid JSON')
  }
}

/** Header bytes are UTF-8 for the runtime and Latin-1 for Node. */
const asciiJson = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('latin1')

/** Keys are percent-encoded and can hold a raw `&`. Only the first `?` ends the path. */
function target(url: string): { path: string; query: URLSearchParams } {
  const mark = url.indexOf('?')
  const path = url.slice(1, mark < 0 ? undefined : mark)
  return { path, query: new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)) }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw new ResourceError(400, 'the key is not valid percent-encoding')
  }
}

/** Values are not cached here. A time that the hosted service rejects is rejected here too. */
function checkCacheTtl(seconds: unknown): void {
  if (seconds !== undefined && seconds !== null && !(Number(seconds) >= MIN_CACHE_TTL_SECONDS))
    throw new ResourceError(400, `cacheTtl must be at least ${MIN_CACHE_TTL_SECONDS} seconds`)
}

/** Unix time in seconds. Undefined if the value does not expire. */
function expirationOf(query: URLSearchParams, now: number): number | undefined {
  const at = query.get('expiration')
  const ttl = query.get('expiration_ttl')
  if (at === null && ttl === null) return undefined
  const expiration = ttl === null ? Number(at) : now + Number(ttl)
  if (!Number.isInteger(expiration) || expiration < now + MIN_TTL_SECONDS)
    throw new ResourceError(400, `expiration must be at least ${MIN_TTL_SECONDS} seconds in the future`)
  return expiration
}
