import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const OBJECTS = Number(process.env['EDGED_CACHE_OBJECTS'] ?? 150)

/** The one body that a path has. */
function bodyOf(path: string): string {
  const seed = createHash('sha256').update(path).digest('hex')
  return seed.repeat(1 + (parseInt(seed.slice(0, 4), 16) % 2000))
}

async function startOrigin(t: Test): Promise<{ url: string; requests: string[] }> {
  const requests: string[] = []
  const server = createServer((asked, response) => {
    requests.push(asked.url!)
    response.setHeader('cache-control', 'max-age=3600').setHeader('cache-tag', 'all').end(bodyOf(asked.url!))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

const withDisk = (origin: string, more: object = {}): object => {
  const base = configuration(origin, {
    cache: { memory: '16MB', disk: { folder: './files', bytes: '200MB' } },
    ...more,
  })
  const { zones } = base as { zones: object[] }
  return { ...base, zones: [{ ...zones[0], cache: 'everything' }] }
}

/** Requests a path on a connection of its own, so that it can reach any process. */
async function get(daemon: Daemon, path: string): Promise<{ cache: string | undefined; body: string }> {
  return await new Promise((resolve, reject) => {
    // The key has the requested host: the port of the proxy changes with each start.
    const asked = request(daemon.proxy + path, { agent: false, headers: { host: 'example.test' } }, (response) => {
      let body = ''
      response.setEncoding('latin1')
      response.on('data', (chunk: string) => (body += chunk))
      response.on('error', reject)
      response.on('end', () => resolve({ cache: response.headers['cf-cache-status'] as string | undefined, body }))
    })
    asked.on('error', reject)
    asked.end()
  })
}

t.test('no wrong byte is served after kill -9 while files are written', { skip: unbuilt }, async (t) => {
  const folder = testFolder(t)
  const origin = await startOrigin(t)
  const paths = Array.from({ length: OBJECTS }, (_, i) => `/object/${i}`)
  const killed = await startDaemon(t, withDisk(origin.url), folder)
  // Nothing is written before the files of the folder have been counted.
  await until(async () => {
    await get(killed, `/first/${origin.requests.length}`)
    return (await killed.metric('edged_cache_entries{tier="disk"}'))! > 0
  })
  const first = origin.requests.filter((path) => path.startsWith('/first'))
  let done = 0
  const load = paths.map(async (path, i) => {
    if (i % 8 > 0) await until(() => done >= i - 8)
    await get(killed, path).catch(() => undefined)
    if (++done === Math.floor(OBJECTS / 2)) killed.signal('SIGKILL')
  })
  await Promise.all(load)
  await killed.ended
  const daemon = await startDaemon(t, withDisk(origin.url), folder)
  origin.requests.length = 0
  let wrong = 0
  let hits = 0
  const asked = [...first, ...paths]
  for (const path of asked) {
    const { body, cache } = await get(daemon, path)
    if (body !== bodyOf(path)) wrong++
    if (cache === 'HIT') hits++
  }
  t.equal(wrong, 0)
  t.equal(hits, asked.length - origin.requests.length)
  t.ok(hits > 0, `${hits} responses survived`)
})

t.test('a purge is in force in two processes and after kill -9 when the API responds', { skip: unbuilt }, async (t) => {
  const folder = testFolder(t)
  const origin = await startOrigin(t)
  const config = withDisk(origin.url, { processes: 2 })
  const first = await startDaemon(t, config, folder)
  for (let i = 0; i < 20; i++) await get(first, '/page')
  await until(async () => ((await first.metric('edged_cache_entries{tier="disk"}')) ?? 0) >= 1)
  const response = await fetch(`${first.control}/zones/${ZONE}/purge_cache`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tags: ['all'] }),
  })
  t.equal(response.status, 200)
  const before = origin.requests.length
  t.equal((await get(first, '/page')).cache, 'MISS')
  t.ok(origin.requests.length > before)
  await fetch(`${first.control}/zones/${ZONE}/purge_cache`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ purge_everything: true }),
  })
  first.signal('SIGKILL')
  await first.ended
  const second = await startDaemon(t, config, folder)
  t.equal((await get(second, '/page')).cache, 'MISS')
})
