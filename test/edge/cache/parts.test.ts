import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { rulesOf } from '../../helpers/rules.js'
import { until } from '../../helpers/web.js'
import { startCachedSite, type CachedSite } from './setup.js'

const MIB = 1_048_576
const TOTAL = 3 * MIB + 1000
/** Each four bytes are their position, so that bytes from another place or version are found. */
const video = (version: number): Buffer => {
  const bytes = Buffer.alloc(TOTAL)
  for (let at = 0; at + 4 <= TOTAL; at += 4) bytes.writeUInt32BE(at * 16 + version, at)
  return bytes
}
const VERSIONS = [video(0), video(1)]

interface Origin {
  /** Index of the version that it sends. */
  version: number
  /** It ignores Range. */
  ignoresRanges: boolean
  /** The values of Range that it got. */
  readonly ranges: (string | undefined)[]
}

const newOrigin = (): Origin => ({ version: 0, ignoresRanges: false, ranges: [] })

/** Responds as servers of files do. */
const files = (origin: Origin) => (request: IncomingMessage, response: ServerResponse) => {
  const { range, 'if-none-match': known } = request.headers
  origin.ranges.push(range)
  const bytes = VERSIONS[origin.version]!
  const etag = `"${origin.version}"`
  response.setHeader('etag', etag).setHeader('accept-ranges', 'bytes').setHeader('content-type', 'video/mp4')
  response.setHeader('cache-control', 'max-age=600')
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(range ?? '') ?? []
  if (known === etag) response.writeHead(304).end()
  else if (first === undefined || last === undefined || origin.ignoresRanges || range === 'bytes=9-1')
    response.writeHead(200, { 'content-length': TOTAL }).end(bytes)
  else {
    const from = first === '' ? TOTAL - Number(last) : Number(first)
    const to = first === '' || last === '' ? TOTAL : Math.min(Number(last) + 1, TOTAL)
    if (from >= TOTAL) response.writeHead(416, { 'content-range': `bytes */${TOTAL}` }).end()
    else
      response
        .writeHead(206, { 'content-range': `bytes ${from}-${to - 1}/${TOTAL}`, 'content-length': to - from })
        .end(bytes.subarray(from, to))
  }
}

/** A folder that is removed after the caches that use it were closed. */
function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'edged-cache-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** Stores of responses: memory, and files with only one or two responses in memory. */
const STORES = {
  memory: () => ({ memory: 20 * MIB, maxObject: 2 * MIB }),
  disk: (t: Test) => ({ memory: 2 * MIB, maxObject: 2 * MIB, disk: { folder: folderOf(t), bytes: 50 * MIB } }),
}

const stored = async (site: CachedSite, parts: number): Promise<void> => {
  await until(() => (site.owner ? site.owner.entries >= parts : true))
}

/** Starts a site whose disk tier knows its files. */
async function start(t: Test, origin: Origin, options: Parameters<typeof startCachedSite>[2]): Promise<CachedSite> {
  const site = await startCachedSite(t, files(origin), options)
  await until(() => site.owner?.has('0'.repeat(48)) !== undefined || site.owner === undefined)
  return site
}

const isPart = (body: string, from: number, to: number, version = 0): boolean =>
  Buffer.from(body, 'latin1').equals(VERSIONS[version]!.subarray(from, to))

for (const [name, options] of Object.entries(STORES)) {
  t.test(`${name}: the ranges of a player come from stored parts`, async (t) => {
    const origin = newOrigin()
    const site = await start(t, origin, options(t))
    const whole = await site.get('/v', { range: 'bytes=0-' })
    t.match(whole, { status: 206, headers: { 'content-range': `bytes 0-${TOTAL - 1}/${TOTAL}`, etag: '"0"' } })
    t.equal(whole.headers['content-length'], String(TOTAL))
    t.ok(isPart(whole.body, 0, TOTAL), 'all bytes in order')
    const parts = [0, 1, 2, 3].map((part) => `bytes=${part * MIB}-${(part + 1) * MIB - 1}`)
    t.same(origin.ranges, [undefined, ...parts], 'the first response shows that it is too large')
    await stored(site, 4)
    for (const [from, to] of [
      [5, 10],
      [MIB - 3, MIB + 3],
      [2 * MIB, 2 * MIB + 1],
      [MIB + 7, TOTAL],
    ] as const) {
      const got = await site.get('/v', { range: `bytes=${from}-${to === TOTAL ? '' : to - 1}` })
      t.match(got, { status: 206, cache: 'HIT', headers: { 'content-range': `bytes ${from}-${to - 1}/${TOTAL}` } })
      t.ok(got.headers.age !== undefined && isPart(got.body, from, to), `${from} to ${to}`)
    }
    t.match(await site.get('/v', { range: 'bytes=10-20', 'if-range': '"0"' }), { status: 206, cache: 'HIT' })
    t.match(await site.get('/v', { range: `bytes=${TOTAL}-` }), {
      status: 416,
      headers: { 'content-range': `bytes */${TOTAL}` },
    })
    t.equal(origin.ranges.length, 5, 'nothing more was requested')

    const other = await site.get('/v', { range: 'bytes=10-20', 'if-range': '"other"' })
    t.match(other, { status: 206 }, 'the origin of this test ignores If-Range, so the request went there')
    t.equal(origin.ranges.length, 6)
    await site.cache.invalidate({ zone: site.zones.current.zones[0]!.id, urls: ['example.test/v'] })
    await site.get('/v', { range: 'bytes=0-0' })
    t.ok(origin.ranges.length > 6, 'removed by the URL of the whole')
  })

  t.test(`${name}: parts of two versions are never joined`, async (t) => {
    const origin = newOrigin()
    const site = await start(t, origin, options(t))
    await site.get('/v', { range: 'bytes=0-9' })
    await stored(site, 1)
    origin.version = 1
    await t.rejects(site.get('/v', { range: 'bytes=0-' }), 'the connection ends before the length')
    const next = await site.get('/v', { range: 'bytes=0-' })
    t.match(next, { status: 206, headers: { etag: '"1"' } })
    t.ok(isPart(next.body, 0, TOTAL, 1), 'all bytes are of the new version')

    // The first part is the newer one, and a later part is stored in the older version.
    const second = await start(t, origin, options(t))
    origin.version = 0
    await second.get('/v', { range: `bytes=${MIB}-${MIB + 9}` })
    await stored(second, 1)
    origin.version = 1
    const got = await second.get('/v', { range: `bytes=5-${2 * MIB}` })
    t.match(got, { status: 206, headers: { etag: '"1"' } })
    t.ok(isPart(got.body, 5, 2 * MIB + 1, 1), 'the rest comes from the origin')
  })
}

t.test('files with parts are used after a restart', async (t) => {
  const origin = newOrigin()
  const options = STORES.disk(t)
  const site = await start(t, origin, options)
  await site.get('/v', { range: `bytes=${MIB}-${2 * MIB}` })
  await stored(site, 2)
  const later = await start(t, origin, { ...options, origin: site.origin })
  const before = origin.ranges.length
  const first = await later.get('/v', { range: `bytes=${MIB + 1}-${2 * MIB}` })
  t.match(first, { status: 206 })
  t.ok(isPart(first.body, MIB + 1, 2 * MIB + 1))
  t.same(origin.ranges.slice(before), [undefined], 'the head of the whole alone was requested')
})

t.test('an origin that does not send parts is asked as before', async (t) => {
  const origin = newOrigin()
  const site = await start(t, origin, STORES.memory())
  await site.get('/v', { range: 'bytes=0-9' })
  origin.ignoresRanges = true
  const range = `bytes=${2 * MIB}-${2 * MIB + 9}`
  const got = await site.get('/v', { range })
  t.match(got, { status: 200, cache: 'MISS' })
  t.ok(isPart(got.body, 0, TOTAL), 'the whole response')
  origin.ranges.length = 0
  await site.get('/v', { range })
  t.same(origin.ranges, [range], 'the request of the client, once')
})

t.test('a rule stores the ranges of every response in parts', async (t) => {
  const origin = newOrigin()
  const action_parameters = { cache: true, origin_range_requests: { mode: 'on' } }
  const rules = rulesOf([
    { phase: 'http_request_cache_settings', rules: [{ action: 'set_cache_settings', action_parameters }] },
  ])
  const site = await start(t, origin, { memory: 20 * MIB, maxObject: 10 * MIB, zone: { rules } })
  t.match(await site.get('/v', { range: 'bytes=100-199' }), { status: 206, cache: 'MISS' })
  t.match(await site.get('/v', { range: 'bytes=300-399' }), { status: 206, cache: 'HIT' })
  t.same(origin.ranges, [`bytes=0-${MIB - 1}`])

  origin.ignoresRanges = true
  origin.ranges.length = 0
  for (let i = 0; i < 3; i++) t.match(await site.get('/whole', { range: 'bytes=5-9' }), { status: 200 })
  t.same(origin.ranges, [`bytes=0-${MIB - 1}`, 'bytes=5-9', 'bytes=5-9', 'bytes=5-9'], 'asked for a part only once')
})

t.test('players of one response share the requests for its parts', async (t) => {
  const origin = newOrigin()
  const site = await start(t, origin, STORES.memory())
  await site.get('/v', { range: 'bytes=0-0' })
  origin.ranges.length = 0
  const players = await Promise.all(
    [0, 1, 2].map(async (at) => await site.get('/v', { range: `bytes=${MIB + at}-${2 * MIB + at}` })),
  )
  for (const [at, { status, body }] of players.entries())
    t.ok(status === 206 && isPart(body, MIB + at, 2 * MIB + at + 1), `from ${at}`)
  t.same(origin.ranges, [`bytes=${MIB}-${2 * MIB - 1}`, `bytes=${2 * MIB}-${3 * MIB - 1}`])
})

t.test('a player that leaves does not end the part that others can use', async (t) => {
  const origin = newOrigin()
  const site = await start(t, origin, STORES.memory())
  await site.get('/v', { range: 'bytes=0-0' })
  const socket = connect(site.port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write(`GET /v HTTP/1.1\r\nhost: example.test\r\nrange: bytes=${MIB}-\r\n\r\n`)
  await once(socket, 'data')
  socket.destroy()
  await until(async () => (await site.get('/v', { range: `bytes=${MIB + 5}-${MIB + 9}` })).cache === 'HIT')
  const got = await site.get('/v', { range: `bytes=${MIB}-` })
  t.ok(isPart(got.body, MIB, TOTAL), 'later requests get all bytes')
})

t.test('several ranges, ranges from the end, other methods and conditions go to the origin', async (t) => {
  const origin = newOrigin()
  const site = await start(t, origin, STORES.memory())
  await site.get('/v', { range: 'bytes=0-9' })
  t.match(await site.get('/v', { range: 'bytes=-10' }), { status: 206, headers: { 'content-length': '10' } })
  t.match(await site.get('/v', { range: 'bytes=0-1', 'if-none-match': '"0"' }), { status: 304 })
  t.match(await site.get('/v', { range: 'bytes=0-1', 'if-none-match': '"other"' }), { status: 206, body: /^..$/s })
  t.match(await site.get('/v', { range: 'bytes=0-1' }, 'HEAD'), { body: '' })
  t.match(await site.get('/v', { range: 'bytes=9-1' }), { status: 200 }, 'no range')
  t.match(await site.get('/v', { range: 'bytes=5-9' }), { status: 206, cache: 'HIT' })
})
