import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { NO_REDIS } from '../helpers/redis.js'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'
import { startOnRedis } from './two-daemons.js'

/** Requests to each daemon in one round, on connections of their own: with two processes both get some. */
const REQUESTS = 8
const ROUNDS = 10

interface Site {
  readonly url: string
  /** The text of the next responses. */
  version: number
}

/** An origin whose pages have the current version as text. */
async function startSite(t: Test): Promise<Site> {
  const site = { url: '', version: 1 }
  const server = createServer((asked, response) => {
    if (asked.method === 'POST') site.version++
    response.setHeader('cache-control', 'max-age=3600').setHeader('cache-tag', 'pages').end(String(site.version))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  site.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return site
}

const cached = (origin: string, more: object): object => {
  const base = configuration(origin, {
    processes: 2,
    control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
    ...more,
  })
  const { zones } = base as { zones: object[] }
  return { ...base, zones: [{ ...zones[0], cache: 'everything' }] }
}

async function ask(daemon: Daemon, path: string, method = 'GET'): Promise<{ cache: unknown; body: string }> {
  return await new Promise((resolve, reject) => {
    const options = { method, agent: false, headers: { host: 'example.test' } }
    const asked = request(daemon.proxy + path, options, (response) => {
      let body = ''
      response.on('data', (chunk: Buffer) => (body += chunk.toString()))
      response.on('error', reject)
      response.on('end', () => resolve({ cache: response.headers['cf-cache-status'], body }))
    })
    asked.on('error', reject)
    asked.end()
  })
}

/** Returns the texts that requests to a daemon get now. */
const seen = async (daemon: Daemon, path: string): Promise<string[]> =>
  await Promise.all(Array.from({ length: REQUESTS }, async () => (await ask(daemon, path)).body))

async function purge(daemon: Daemon, body: object): Promise<number> {
  const response = await fetch(`${daemon.control}/zones/${ZONE}/purge_cache`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await response.text()
  return response.status
}

t.test('a change through one process is seen by the next request to any process', { skip: unbuilt }, async (t) => {
  const site = await startSite(t)
  const folder = testFolder(t)
  const daemon = await startDaemon(
    t,
    cached(site.url, { cache: { memory: '16MB', disk: { folder: join(folder, 'files'), bytes: '50MB' } } }),
    folder,
  )
  for (let round = 0; round < ROUNDS; round++) {
    await seen(daemon, '/page')
    await ask(daemon, '/page', 'POST')
    t.strictSame(new Set(await seen(daemon, '/page')), new Set([String(site.version)]), `round ${round}`)
  }
})

t.test('two daemons with one Redis', { skip: unbuilt || NO_REDIS, timeout: 300_000 }, async (t) => {
  const site = await startSite(t)
  const { redis, one, two } = await startOnRedis(t, (shared) => cached(site.url, shared))

  await t.test('a purge is in force here when the API responds, and there soon', async (t) => {
    const purges = [
      { purge_everything: true },
      { tags: ['pages'] },
      { files: ['http://example.test/page?a=1'] },
      { hosts: ['example.test'] },
      { prefixes: ['example.test/page'] },
    ]
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all([seen(one, '/page?a=1'), seen(two, '/page?a=1')])
      site.version++
      const fresh = String(site.version)
      t.equal(await purge(one, purges[round % purges.length]!), 200)
      t.strictSame(new Set(await seen(one, '/page?a=1')), new Set([fresh]), `round ${round}, here`)
      await until(async () => (await seen(two, '/page?a=1')).every((body) => body === fresh))
    }
    t.pass('the other machine has every purge')
  })

  await t.test('a change through one machine reaches the other', async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all([seen(one, '/item'), seen(two, '/item')])
      await ask(one, '/item', 'POST')
      const fresh = String(site.version)
      t.strictSame(new Set(await seen(one, '/item')), new Set([fresh]), `round ${round}, here`)
      await until(async () => (await seen(two, '/item')).every((body) => body === fresh))
    }
    t.pass('the other machine has every change')
  })

  await t.test('a change while Redis does not respond reaches the other machine later', async (t) => {
    await Promise.all([seen(one, '/late'), seen(two, '/late')])
    await redis.kill()
    await ask(one, '/late', 'POST')
    const fresh = String(site.version)
    await redis.start()
    await until(async () => (await seen(two, '/late')).every((body) => body === fresh))
    t.pass('nothing was lost')
  })
})
