import { createHash } from 'node:crypto'
import { open, readdir, readFile, readlink, stat, utimes, writeFile } from 'node:fs/promises'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { metric } from '../../helpers/proxy.js'
import { until } from '../../helpers/web.js'
import { MovedClock, startCachedSite, type CachedSite } from './setup.js'

const MIB = 1_048_576

const known = new Map<string, Buffer>()

/** Bytes that differ everywhere and depend on their seed. */
function bytesOf(seed: string, length: number): Buffer {
  const present = known.get(seed)
  if (present?.length === length) return present
  const bytes = Buffer.alloc(length)
  known.set(seed, bytes)
  for (let at = 0; at < length; at += 32)
    createHash('sha256')
      .update(`${seed} ${at}`)
      .digest()
      .copy(bytes, at, 0, Math.min(32, length - at))
  return bytes
}

/** A folder that is removed after the caches that use it were closed. */
function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'edged-cache-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  return names.filter((name) => /^..\/[0-9a-f]{48}$/.test(name)).map((name) => join(folder, name))
}

const entries = (site: CachedSite): number => site.owner!.entries

/** Purges as the daemon does it: owner and cache get the same record. */
function purge(site: CachedSite, what: Parameters<CachedSite['cache']['purge']>[1], version: number): void {
  const zone = site.zones.current.zones[0]!.id
  site.owner!.purge(zone, what, version)
  site.cache.purge(zone, what, { kind: 'tags', version })
}

/** The clock of the origin is ahead by these milliseconds. */
let aheadMs = 0

const respond: Parameters<typeof startCachedSite>[1] = (request, response, count) => {
  response.setHeader('date', new Date(Date.now() + aheadMs).toUTCString())
  const size = Number(/\d+/.exec(request.url!)?.[0] ?? 10)
  response.setHeader('cache-control', 'max-age=600').setHeader('cache-tag', `t${size}`).setHeader('etag', '"1"')
  if (request.headers['if-none-match'] === '"1"') response.writeHead(304).end()
  else if (request.url!.startsWith('/count')) response.end(String(count))
  else if (request.url!.startsWith('/lang'))
    response.setHeader('vary', 'accept-language').end(request.headers['accept-language'])
  else response.setHeader('content-type', 'x/y').setHeader('content-length', size).end(bytesOf(request.url!, size))
}

t.test('responses survive a restart with age, ranges and Vary, and go back to memory', async (t) => {
  const folder = folderOf(t)
  const disk = { folder, bytes: 50 * MIB }
  const clock = new MovedClock()
  const first = await startCachedSite(t, respond, { disk, clock, maxObject: 20 * MIB })
  const targets = ['/small/10', '/empty/0', '/blocks/300000', `/large/${5 * MIB - 5}`]
  for (const target of targets) await first.get(target)
  await first.get('/lang', { 'accept-language': 'en' })
  await first.get('/lang', { 'accept-language': 'de' })
  await until(() => entries(first) === 7)
  const second = await startCachedSite(t, respond, {
    disk,
    clock,
    origin: first.origin,
    memory: 20 * MIB,
    maxObject: 20 * MIB,
  })
  for (const target of targets) {
    const got = await second.get(target)
    t.match(got, { cache: 'HIT', headers: { 'content-type': 'x/y', age: /^\d+$/ } }, target)
    t.ok(Buffer.from(got.body, 'latin1').equals(bytesOf(target, Number(/\d+/.exec(target)![0]))), `bytes of ${target}`)
    const ranged = await second.get(target, { range: 'bytes=2-65540' })
    if (target !== '/empty/0') t.match(ranged, { status: 206, cache: 'HIT' })
    if (target.length > 12)
      t.ok(Buffer.from(ranged.body, 'latin1').equals(bytesOf(target, 300_000).subarray(2, 65_541)), 'the range')
    t.match(await second.get(target, { 'if-none-match': '"1"' }), { status: 304, cache: 'HIT' })
    t.match(await second.get(target, {}, 'HEAD'), { status: 200, cache: 'HIT', body: '' })
  }
  const several = await second.get(targets[3]!, { range: 'bytes=0-1,-2' })
  t.match(several, { status: 206, headers: { 'content-type': /^multipart\/byteranges/ } })
  t.match(await second.get('/lang', { 'accept-language': 'de' }), { cache: 'HIT', body: 'de' })
  t.match(await second.get('/lang', { 'accept-language': 'en' }), { cache: 'HIT', body: 'en' })
  t.match(await second.get('/lang', { 'accept-language': 'fr' }), { cache: 'MISS', body: 'fr' })
  t.equal(first.requests.length, 7)
  t.ok((await metric(second.metrics, 'edged_cache_entries', { tier: 'memory' })) >= 5)
})

t.test('a stale response on disk is revalidated, and the result survives', async (t) => {
  const folder = folderOf(t)
  const disk = { folder, bytes: 50 * MIB }
  const clock = new MovedClock()
  const target = `/x/${6 * MIB}`
  const site = await startCachedSite(t, respond, { disk, clock, memory: 60 * MIB, maxObject: 20 * MIB })
  await site.get(target)
  await until(() => entries(site) === 1)
  const options = { disk, clock, memory: 10 * MIB, origin: site.origin, maxObject: 20 * MIB }
  const next = await startCachedSite(t, respond, options)
  clock.forward(601)
  t.match(
    await next.get(target, { range: 'bytes=0-0' }),
    { status: 206, cache: 'HIT' },
    'the age on disk is in wall time',
  )
  const old = { now: () => Date.now() + 700_000, monotonic: () => clock.monotonic(), sleep: clock.sleep }
  aheadMs = 700_000
  const later = await startCachedSite(t, respond, { ...options, clock: old })
  t.match(await later.get(target, { range: 'bytes=0-0' }), { status: 206, cache: 'REVALIDATED' })
  await until(async () => (await later.get(target, { range: 'bytes=0-0' })).cache === 'HIT')
  aheadMs = 0
  const jumped = { now: () => Date.now() - 700_000, monotonic: () => clock.monotonic(), sleep: clock.sleep }
  const before = await startCachedSite(t, respond, { ...options, clock: jumped })
  t.match(await before.get(target, { range: 'bytes=0-0' }), { cache: 'REVALIDATED' }, 'an age below 0 is stale')
})

t.test('a damaged, cut or foreign file is a miss, and is removed', async (t) => {
  const targets = ['/a/200', '/b/200000']
  const damages: [what: string, change: (bytes: Buffer) => Buffer][] = [
    ['a flipped bit in the body', (bytes) => ((bytes[bytes.length - 5]! ^= 1), bytes)],
    ['a flipped bit in the head', (bytes) => ((bytes[60]! ^= 1), bytes)],
    ['a file that ends early', (bytes) => bytes.subarray(0, bytes.length - 100)],
    ['an empty file', () => Buffer.alloc(0)],
    ['another version', (bytes) => ((bytes[5] = 99), bytes)],
    ['another file', () => Buffer.from('x'.repeat(100_000))],
    ['zeros after a power failure', (bytes) => Buffer.alloc(bytes.length)],
  ]
  for (const [what, change] of damages) {
    const folder = folderOf(t)
    const disk = { folder, bytes: 50 * MIB }
    const first = await startCachedSite(t, respond, { disk })
    for (const target of targets) await first.get(target)
    await until(() => entries(first) === 2)
    for (const file of await filesIn(folder)) await writeFile(file, change(await readFile(file)))
    const second = await startCachedSite(t, respond, { disk, origin: first.origin })
    await until(() => second.owner!.has('0'.repeat(48)) === false)
    for (const target of targets) {
      const got = await second.get(target)
      t.match(got, { cache: 'MISS', status: 200 }, what)
      t.ok(Buffer.from(got.body, 'latin1').equals(bytesOf(target, Number(/\d+/.exec(target)![0]))))
    }
    // The owner of the files hears of each damaged one after its request.
    await until(() => entries(second) === 2 && second.owner!.evictions.get('invalid') === 2)
  }
})

t.test('a damaged block of a large response ends the transfer, not with wrong bytes', async (t) => {
  const folder = folderOf(t)
  const disk = { folder, bytes: 50 * MIB }
  const target = `/x/${2 * MIB}`
  const first = await startCachedSite(t, respond, { disk })
  await first.get(target)
  await until(() => entries(first) === 1)
  const [file] = await filesIn(folder)
  const bytes = await readFile(file!)
  bytes[bytes.length - 10]! ^= 1
  await writeFile(file!, bytes)
  const second = await startCachedSite(t, respond, { disk, origin: first.origin, memory: 4 * MIB })
  t.match(await second.get(target, { range: 'bytes=0-99' }), { status: 206, cache: 'HIT' })
  await t.rejects(second.get(target))
  await until(async () => (await filesIn(folder)).length === 0)
  t.match(await second.get(target), { cache: 'MISS' })
})

t.test('a response that does not fit into memory goes to disk as it arrives', async (t) => {
  const disk = { folder: folderOf(t), bytes: 50 * MIB }
  const site = await startCachedSite(t, respond, { disk, memory: 2 * MIB, maxObject: 20 * MIB })
  await until(() => site.owner!.has('0'.repeat(48)) === false)
  const target = `/x/${7 * MIB + 3}`
  const expected = bytesOf(target, 7 * MIB + 3)
  const all = await Promise.all([1, 2, 3].map(async () => await site.get(target)))
  for (const { body } of all) t.ok(Buffer.from(body, 'latin1').equals(expected))
  await until(() => entries(site) === 1)
  const before = site.requests.length
  const again = await site.get(target)
  t.equal(again.cache, 'HIT')
  t.ok(Buffer.from(again.body, 'latin1').equals(expected))
  t.equal(site.requests.length, before)
  t.ok((await metric(site.metrics, 'edged_cache_bytes', { tier: 'memory' })) <= 2 * MIB)
})

t.test('a purge covers files, also after a restart and for another store', async (t) => {
  const folder = folderOf(t)
  const disk = { folder, bytes: 50 * MIB }
  const first = await startCachedSite(t, respond, { disk })
  for (const target of ['/a/1', '/b/2', '/c/3', '/count/d4']) await first.get(target)
  await until(() => entries(first) === 4)
  purge(first, { tags: ['t1'] }, 7)
  purge(first, { urls: ['example.test/b/2'] }, 8)
  await first.owner!.recorded
  // As after kill -9: nothing was removed yet, and the purges are known.
  const second = await startCachedSite(t, respond, { disk, origin: first.origin })
  for (const target of ['/a/1', '/b/2']) t.match(await second.get(target), { cache: 'MISS' }, target)
  t.match(await second.get('/c/3'), { cache: 'HIT' })
  await until(() => second.owner!.entries === 4)
  t.match(await second.get('/count/d4'), { cache: 'HIT' })
  t.match(await second.get('/count/d4', {}, 'POST'), { status: 200 })
  t.match(await second.get('/count/d4'), { cache: 'MISS' }, 'an unsafe method removes the file')
  purge(second, { everything: true }, 9)
  for (const target of ['/a/1', '/b/2', '/c/3', '/count/d4'])
    t.match(await second.get(target), { cache: 'MISS' }, target)
  await until(() => second.owner!.entries === 4)
  const other = await startCachedSite(t, respond, { disk: { ...disk, identity: 'other' }, origin: first.origin })
  t.match(await other.get('/c/3'), { cache: 'MISS' }, 'files of another store are not used')
})

t.test('the files stay within their bytes, and what is used often stays', async (t) => {
  const folder = folderOf(t)
  const bytes = 2 * MIB
  const site = await startCachedSite(t, respond, { disk: { folder, bytes }, memory: MIB })
  const hot = '/hot/50000'
  for (let i = 0; i < 120; i++) {
    await site.get(`/scan/40000?${i}`)
    if (i % 10 === 0) await site.get(hot)
  }
  await until(() => site.owner!.bytes <= bytes)
  const sizes = await Promise.all((await filesIn(folder)).map(async (file) => (await stat(file)).size))
  t.ok(sizes.reduce((sum, size) => sum + size, 0) <= bytes)
  t.ok(site.owner!.evictions.get('capacity')! > 20)
  t.ok(site.requests.filter((one) => one.includes('/hot')).length <= 3)
  site.owner!.configure(MIB)
  t.ok(site.owner!.bytes <= MIB, 'a lower limit applies immediately')
})

t.test('a full disk ends writing for half a minute and frees a part of the files; responses are right', async (t) => {
  const clock = new MovedClock()
  const site = await startCachedSite(t, respond, {
    disk: { folder: folderOf(t), bytes: 200 * MIB },
    memory: MIB,
    clock,
  })
  const targets = Array.from({ length: 40 }, (_, i) => `/object/20000?${i}`)
  for (const target of targets) await site.get(target)
  await until(() => entries(site) === targets.length)
  const owner = site.owner!
  owner.failed('write', Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))
  t.ok(entries(site) < targets.length, 'files are freed')
  const left = entries(site)
  t.match(await site.get('/new/20000'), { cache: 'MISS' })
  t.notOk(await owner.reserve(1, true))
  t.equal(entries(site), left, 'nothing is written')
  for (const target of targets) t.equal((await site.get(target)).body, bytesOf(target, 20_000).toString('latin1'))
  clock.forward(30)
  t.match(await site.get('/later/20000'), { cache: 'MISS' })
  await until(() => entries(site) > left)
  t.equal(owner.errors.get('write'), 1)
})

/** How many descriptors this process has of files in a folder. */
async function openIn(folder: string): Promise<number> {
  const paths = (await readdir('/proc/self/fd')).map(
    async (fd) => await readlink(`/proc/self/fd/${fd}`).catch(() => ''),
  )
  return (await Promise.all(paths)).filter((path) => path.startsWith(folder)).length
}

t.test('a response on disk is opened once for many clients', { skip: process.platform !== 'linux' }, async (t) => {
  const folder = folderOf(t)
  const disk = { folder, bytes: 50 * MIB }
  const targets = ['/small/10000', '/blocks/300000', `/large/${6 * MIB}`]
  const first = await startCachedSite(t, respond, { disk, maxObject: 20 * MIB, memory: 60 * MIB })
  for (const target of targets) await first.get(target)
  await until(() => entries(first) === targets.length)
  // Its memory has capacity for heads only.
  const site = await startCachedSite(t, respond, { disk, origin: first.origin, memory: 16_384, maxObject: 20 * MIB })
  for (let i = 0; i < 3; i++) {
    const all = [...targets, ...targets].map(async (target) => {
      const { cache, body } = await site.get(target)
      t.equal(cache, 'HIT')
      t.ok(Buffer.from(body, 'latin1').equals(bytesOf(target, Number(/\d+/.exec(target)![0]))), `bytes of ${target}`)
    })
    await Promise.all(all)
  }
  const parts = await site.get(targets[1]!, { range: 'bytes=65530-65540,-3' })
  t.match(parts, { status: 206, headers: { 'content-type': /^multipart\/byteranges/ } })
  t.ok(parts.body.includes(bytesOf(targets[1]!, 300_000).subarray(65_530, 65_541).toString('latin1')))
  t.match(await site.get(targets[0]!, {}, 'HEAD'), { cache: 'HIT', body: '' })
  t.match(await site.get(targets[0]!, { 'if-none-match': '"1"' }), { status: 304 })
  t.equal(first.requests.length, targets.length)
  await until(async () => (await openIn(folder)) <= targets.length)
  purge(site, { everything: true }, 1)
  t.match(await site.get(targets[0]!), { cache: 'MISS' })
  await site.cache.close()
  await until(async () => (await openIn(folder)) === 0)
})

t.test('a file that changes while it is open is compared with its checksums again', async (t) => {
  const folder = folderOf(t)
  const disk = { folder, bytes: 50 * MIB }
  const target = '/x/9000'
  const first = await startCachedSite(t, respond, { disk })
  await first.get(target)
  await until(() => entries(first) === 1)
  const site = await startCachedSite(t, respond, { disk, origin: first.origin, memory: 8192 })
  await until(() => site.owner!.has('0'.repeat(48)) === false)
  for (let i = 0; i < 3; i++) t.match(await site.get(target), { cache: 'HIT' })
  const [path] = await filesIn(folder)
  const file = await open(path!, 'r+')
  await file.write(Buffer.from('damage'), 0, 6, 9000)
  await file.close()
  await utimes(path!, new Date(0), new Date(0))
  const { cache, body } = await site.get(target)
  t.equal(cache, 'MISS')
  t.ok(Buffer.from(body, 'latin1').equals(bytesOf(target, 9000)))
  t.equal(site.owner!.evictions.get('invalid'), 1)
})
