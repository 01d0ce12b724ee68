import { once } from 'node:events'
import { createServer, request, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { NO_REDIS } from '../helpers/redis.js'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, unbuilt, type Daemon } from './daemon.js'
import { startOnRedis } from './two-daemons.js'

/** Requests to each daemon in one round, on connections of their own: with two processes both get some. */
const REQUESTS = 8
const ROUNDS = 5
const PAGES = ['/scripts', '/both', '/styles', '/none']
const GROUPS: Readonly<Record<string, string>> = {
  '/scripts': '"scripts"',
  '/both': '"scripts", "styles";x=1',
  '/styles': '"styles"',
  '/slow': '"scripts"',
}
const HINT = '</style.css>; rel=preload; as=style'

interface Site {
  readonly url: string
  /** Names of groups that changed, one for each change. The text of a page is the number of changes of its groups. */
  readonly changes: string[]
  /** Responses to `/slow` before the first change, which the test ends. */
  readonly slow: ServerResponse[]
}

/** Returns the text of a page now. */
const textOf = ({ changes }: Site, page: string): string =>
  String(changes.filter((group) => GROUPS[page]?.includes(group)).length)

/** Returns the texts of all pages now. A process without a stored response gets the same. */
const current = (site: Site): Record<string, string[]> =>
  Object.fromEntries(PAGES.map((page) => [page, [textOf(site, page)]]))

/** An origin whose pages are in groups. The response to a POST invalidates the groups in its query. */
async function startSite(t: Test): Promise<Site> {
  const site: Site = { url: '', changes: [], slow: [] }
  const server = createServer((asked, response) => {
    const { pathname, searchParams } = new URL(asked.url ?? '/', 'http://origin')
    if (asked.method === 'POST') {
      const groups = searchParams.get('groups') ?? ''
      site.changes.push(...groups.split(',').map((group) => group.trim()))
      response.setHeader('cache-group-invalidation', groups).end()
      return
    }
    response.setHeader('cache-control', 'max-age=3600')
    if (GROUPS[pathname]) response.setHeader('cache-groups', GROUPS[pathname])
    if (pathname === '/hints') response.writeEarlyHints({ link: HINT })
    if (pathname === '/slow' && site.changes.length === 0) site.slow.push(response)
    else response.end(textOf(site, pathname))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(site, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

const cached = (origin: string, more: object): object => {
  const base = configuration(origin, { processes: 2, ...more })
  const { zones } = base as { zones: object[] }
  return { ...base, zones: [{ ...zones[0], cache: 'everything' }] }
}

interface Got {
  readonly cache: unknown
  readonly body: string
  readonly hints: unknown[]
}

async function ask(daemon: Daemon, path: string, method = 'GET'): Promise<Got> {
  return await new Promise((resolve, reject) => {
    const hints: unknown[] = []
    const options = { method, agent: false, headers: { host: 'example.test' } }
    const asked = request(daemon.proxy + path, options, (response) => {
      let body = ''
      response.on('data', (chunk: Buffer) => (body += chunk.toString()))
      response.on('error', reject)
      response.on('end', () => resolve({ cache: response.headers['cf-cache-status'], body, hints }))
    })
    asked.on('information', ({ headers }: { headers: IncomingHttpHeaders }) => hints.push(headers['link']))
    asked.on('error', reject)
    asked.end()
  })
}

/** Returns the texts that requests for each page get now, without repetitions. */
async function seen(daemon: Daemon): Promise<Record<string, readonly string[]>> {
  const rows = PAGES.map(async (page) => {
    const bodies = Array.from({ length: REQUESTS }, async () => (await ask(daemon, page)).body)
    return [page, [...new Set(await Promise.all(bodies))]] as const
  })
  return Object.fromEntries(await Promise.all(rows))
}

/** Stores all pages in all processes. */
async function fill(...daemons: readonly Daemon[]): Promise<void> {
  const isStored = async (daemon: Daemon, page: string) => {
    const found = await Promise.all(Array.from({ length: REQUESTS }, async () => await ask(daemon, page)))
    return found.every(({ cache }) => cache === 'HIT')
  }
  for (const daemon of daemons)
    for (const page of PAGES) {
      await until(async () => await isStored(daemon, page))
    }
}

t.test('groups are invalidated in all processes before the response', { skip: unbuilt }, async (t) => {
  const site = await startSite(t)
  const folder = testFolder(t)
  const disk = { folder: join(folder, 'files'), bytes: '50MB' }
  const daemon = await startDaemon(t, cached(site.url, { cache: { memory: '16MB', disk } }), folder)
  for (let round = 0; round < ROUNDS; round++) {
    await fill(daemon)
    const groups = round % 2 === 0 ? '"scripts"' : '"other", "styles"'
    await ask(daemon, `/change?groups=${encodeURIComponent(groups)}`, 'POST')
    t.same(await seen(daemon), current(site), `round ${round}`)
  }
})

t.test('a response that is on its way during the invalidation is not stored', { skip: unbuilt }, async (t) => {
  const site = await startSite(t)
  const daemon = await startDaemon(t, cached(site.url, {}), testFolder(t))
  const early = ask(daemon, '/slow')
  await until(() => site.slow.length === 1)
  await ask(daemon, `/change?groups=${encodeURIComponent('"scripts"')}`, 'POST')
  site.slow.pop()!.end('before the change')
  t.match(await early, { body: 'before the change' })
  for (let n = 0; n < REQUESTS; n++) t.match(await ask(daemon, '/slow'), { body: '1' })
})

t.test('early hints pass with two processes', { skip: unbuilt }, async (t) => {
  const site = await startSite(t)
  const daemon = await startDaemon(t, cached(site.url, {}), testFolder(t))
  const found = await Promise.all(Array.from({ length: REQUESTS }, async () => await ask(daemon, '/hints')))
  t.ok(found.some(({ cache }) => cache === 'MISS'))
  t.ok(found.some(({ hints }) => hints.length === 1))
  for (let n = 0; n < REQUESTS; n++) {
    const { cache, hints } = await ask(daemon, '/hints')
    t.same(hints, cache === 'HIT' ? [] : [HINT])
  }
})

t.test('two daemons with one Redis', { skip: unbuilt || NO_REDIS, timeout: 300_000 }, async (t) => {
  const site = await startSite(t)
  const { redis, one, two } = await startOnRedis(t, (shared) => cached(site.url, shared))
  const invalidate = async (group: string) =>
    await ask(one, `/change?groups=${encodeURIComponent(`"${group}"`)}`, 'POST')
  const there = async () => await until(async () => isDeepStrictEqual(await seen(two), current(site)))

  await t.test('an invalidation through one machine reaches the other', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      await fill(one, two)
      await invalidate('scripts')
      t.same(await seen(one), current(site), `round ${round}, here`)
      await there()
    }
  })

  await t.test('an invalidation while Redis does not respond reaches the other machine later', async (t) => {
    await fill(one, two)
    await redis.kill()
    await invalidate('styles')
    await redis.start()
    await there()
    t.pass('nothing was lost')
  })
})
