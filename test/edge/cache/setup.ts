import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { request as send, type IncomingHttpHeaders } from 'node:http'
import { systemClock, type Clock } from '../../../src/core/clock.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { silentLog } from '../../../src/core/log.js'
import { ResponseCache } from '../../../src/edge/cache/cache.js'
import { DiskOwner } from '../../../src/edge/cache/files/owner.js'
import type { CacheOptions } from '../../../src/edge/cache/entries/types.js'
import { zoneTable, type Zone } from '../../../src/edge/exchange/zones.js'
import { startOrigin, startProxy, testZone, type Teardown, type TestProxy } from '../../helpers/proxy.js'

export interface CachedSite extends TestProxy {
  readonly cache: ResponseCache
  /** URL of the origin: another site with it has the same keys. */
  readonly origin: string
  /** Set with `disk`. */
  readonly owner: DiskOwner | undefined
  /** Requests that the origin got, as `METHOD target`. */
  readonly requests: string[]
  /** Sends one request on a connection of its own. */
  get(target: string, headers?: Record<string, string>, method?: string): Promise<Got>
  /** Replaces members of the zone. */
  change(zone: Partial<Zone>): void
}

export interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** `cf-cache-status`. */
  readonly cache: string | undefined
}

/** A clock whose durations tests extend. The time of day stays, since origins send theirs. */
export class MovedClock implements Clock {
  #ahead = 0
  now = () => Date.now()
  monotonic = () => performance.now() + this.#ahead
  sleep = systemClock.sleep
  forward(seconds: number): void {
    this.#ahead += seconds * 1000
  }
}

/** Starts an origin, and a proxy with a cache before it. */
export async function startCachedSite(
  t: Teardown,
  listener: (request: IncomingMessage, response: ServerResponse, count: number) => void,
  {
    mode = 'everything',
    memory = 10_000_000,
    maxObject = 5_000_000,
    clock = systemClock,
    zone = {},
    options = {},
    disk,
    origin,
    log = silentLog,
    ...more
  }: {
    mode?: CacheOptions['mode']
    memory?: number
    maxObject?: number
    clock?: Clock
    zone?: Partial<Zone>
    options?: Partial<CacheOptions>
    disk?: { folder: string; bytes: number; identity?: string }
    origin?: string
  } & Parameters<typeof startProxy>[2] = {},
): Promise<CachedSite> {
  const requests: string[] = []
  const counting: RequestListener = (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    listener(request, response, requests.length)
  }
  const url = origin ?? (await startOrigin(t, counting)).url
  const base = testZone(url)
  const site: Zone = { ...base, cache: { ...base.cache, mode, ...options }, ...zone }
  const facts = { country: () => undefined }
  const metrics = openMetrics({ process: false })
  const owner = disk && (await DiskOwner.open(disk, { identity: disk.identity ?? 'store', clock, log }))
  if (owner) t.teardown(async () => await owner.close())
  const cache = new ResponseCache(
    { memory, max_object: maxObject },
    { facts, clock, metrics, ...(owner && { disk: { start: owner.start, owner, counts: owner } }) },
  )
  t.teardown(async () => await cache.close())
  const proxy = await startProxy(t, [site], { ...more, cache, clock, log })
  return Object.assign(proxy, {
    cache,
    owner,
    origin: url,
    requests,
    metrics,
    get: async (target: string, headers: Record<string, string> = {}, method = 'GET') =>
      await fetchFrom(proxy.port, target, headers, method),
    change(members: Partial<Zone>) {
      const [current] = proxy.zones.current.zones
      proxy.zones.current = zoneTable([{ ...current!, ...members }])
    },
  })
}

/** Sends one request, and reads the response. */
async function fetchFrom(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Got> {
  return await new Promise((resolve, reject) => {
    const request = send(
      { host: '127.0.0.1', port, path, method, agent: false, headers: { host: 'example.test', ...headers } },
      (response) => {
        let body = ''
        response.setEncoding('latin1')
        response.on('data', (chunk: string) => (body += chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            body,
            cache: response.headers['cf-cache-status'] as string | undefined,
          }),
        )
      },
    )
    request.on('error', reject)
    request.end()
  })
}
