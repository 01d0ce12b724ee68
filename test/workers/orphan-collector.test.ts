import t, { type Test } from 'tap'
import type { Blobs } from '../../src/core/blobs.js'
import type { Log } from '../../src/core/log.js'
import { silentLog } from '../../src/core/log.js'
import { ASSET_SESSIONS, WORKER_ASSETS } from '../../src/core/model/worker-assets.js'
import { WORKER_VERSIONS } from '../../src/core/model/worker.js'
import { account } from '../../src/core/scope.js'
import { openStore } from '../../src/store/index.js'
import { memoryBlobs } from '../../src/store/blobs/memory-blobs.js'
import { collectOrphans, startCollector } from '../../src/workers/orphan-collector.js'
import { deployed, hashOf, uploaded, uploadsOver, type Content } from '../helpers/deployed-assets.js'
import { MovedClock } from '../helpers/moved-clock.js'
import { until } from '../helpers/web.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const scope = account(ACCOUNT)
const HOUR = 3_600_000
const DAY = 24 * HOUR

async function made(t: Test) {
  const clock = new MovedClock('2026-11-21T12:00:00Z')
  const store = await openStore('memory', { folder: '', log: silentLog, clock })
  t.teardown(async () => await store.close())
  const blobs = memoryBlobs(clock)
  const uploads = uploadsOver(store, blobs, clock)
  const deps = { store, blobs, clock, log: silentLog, olderThanMs: () => DAY }
  return {
    ...deps,
    uploads,
    collect: async (over: Partial<typeof deps> = {}) => await collectOrphans({ ...deps, ...over }),
    deploy: async (files: Record<string, Content>) => {
      const manifest = await uploaded(uploads, ACCOUNT, 'site', files)
      await deployed(store, ACCOUNT, 'site', { manifest })
      return manifest
    },
    forgetVersion: async (id: string) => {
      await store.batch([{ kind: WORKER_VERSIONS, scope, id, value: undefined }])
    },
    texts: async (...names: string[]) => await Promise.all(names.map(async (name) => String(await blobs.get(name)))),
  }
}

/** The blob of a file that {@link uploaded} took. */
const blobOf = ({ store }: Awaited<ReturnType<typeof made>>, path: string, bytes: string) =>
  store.get(WORKER_ASSETS, scope, hashOf(path + bytes))!.value.blob

t.test('a blob that nothing names goes once it is old enough', async (t) => {
  const { blobs, clock, collect, texts } = await made(t)
  const orphan = await blobs.put(Buffer.from('orphan'))
  clock.move(DAY)
  const young = await blobs.put(Buffer.from('young'))
  t.equal(await collect(), 0)
  clock.move(1)
  t.equal(await collect(), 1)
  t.same(await texts(orphan, young), ['undefined', 'young'])
})

t.test('what a kept version is made of stays, however old it is', async (t) => {
  const it = await made(t)
  const module = await it.blobs.put(Buffer.from('export default {}'))
  const manifest = await it.deploy({ '/a.html': ['A'], '/b.html': ['B'] })
  const version = it.store.get(WORKER_VERSIONS, scope, 'site-1')!.value
  const modules = [{ name: 'a.js', type: 'application/javascript+module', blob: module, size: 17 }]
  await it.store.batch([{ kind: WORKER_VERSIONS, scope, id: 'site-1', value: { ...version, modules } }])
  const kept = [module, blobOf(it, '/a.html', 'A'), blobOf(it, '/b.html', 'B')]
  it.clock.move(30 * DAY)
  t.equal(await it.collect(), 1, 'what the upload had announced')
  t.equal(await it.collect(), 0)
  t.same(await it.texts(...kept), ['export default {}', 'A', 'B'])
  t.ok(await it.blobs.get(manifest))
})

t.test('files of deleted versions are forgotten, and the next collection deletes their blobs', async (t) => {
  const it = await made(t)
  await it.deploy({ '/both.html': ['both'], '/old.html': ['old'] })
  await it.deploy({ '/both.html': ['both'], '/new.html': ['new'] })
  const blobs = [
    blobOf(it, '/both.html', 'both'),
    blobOf(it, '/old.html', 'old'),
    blobOf(it, '/new.html', 'new'),
  ] as const
  it.clock.move(2 * DAY)
  await it.collect()
  t.equal(it.store.count(WORKER_ASSETS), 3, 'the first version is kept')

  await it.forgetVersion('site-1')
  t.equal(await it.collect(), 1, 'its manifest')
  t.equal(it.store.count(WORKER_ASSETS), 2)
  t.same(await it.texts(...blobs), ['both', 'old', 'new'])
  t.equal(await it.collect(), 1)
  t.same(await it.texts(...blobs), ['both', 'undefined', 'new'])

  const { buckets } = await it.uploads.open(scope, 'site', {
    '/old.html': { hash: hashOf('/old.htmlold'), size: 3 },
    '/new.html': { hash: hashOf('/new.htmlnew'), size: 3 },
  })
  t.same(buckets, [[hashOf('/old.htmlold')]], 'a client is asked for it again')
})

t.test('an upload under way keeps what it found, until its hour is over', async (t) => {
  const it = await made(t)
  await it.deploy({ '/old.html': ['old'] })
  await it.forgetVersion('site-1')
  it.clock.move(2 * DAY)
  const old = blobOf(it, '/old.html', 'old')
  const files = { '/old.html': { hash: hashOf('/old.htmlold'), size: 3 }, '/new.html': { hash: hashOf('n'), size: 1 } }
  const { jwt } = await it.uploads.open(scope, 'site', files)
  await it.collect()
  await it.collect()
  const admitted = await it.uploads.admit(scope, jwt)
  const done = await admitted.take([{ hash: hashOf('n'), type: 'text/html', bytes: Buffer.from('n') }])
  const manifest = await it.uploads.readCompletion(scope, 'site', done ?? '')
  t.same(await it.texts(old), ['old'])

  it.clock.move(HOUR)
  for (let i = 0; i < 2; i++) {
    it.clock.move(DAY + 1)
    await it.collect()
  }
  t.equal(it.store.count(ASSET_SESSIONS), 0)
  t.equal(it.store.count(WORKER_ASSETS), 0)
  t.same(await it.texts(old, manifest), ['undefined', 'undefined'])
})

t.test('an upload that begins while the collector looks around loses nothing', async (t) => {
  const it = await made(t)
  await it.deploy({ '/old.html': ['old'] })
  await it.forgetVersion('site-1')
  it.clock.move(2 * DAY)
  const files = { '/old.html': { hash: hashOf('/old.htmlold'), size: 3 } }
  let jwt = ''
  const meanwhile: Blobs = {
    ...it.blobs,
    async collect(named, age) {
      jwt = (await it.uploads.open(scope, 'site', files)).jwt
      return await it.blobs.collect(named, age)
    },
  }
  await it.collect({ blobs: meanwhile })
  const manifest = await it.uploads.readCompletion(scope, 'site', jwt)
  await deployed(it.store, ACCOUNT, 'site', { manifest })
  it.clock.move(2 * DAY)
  await it.collect()
  await it.collect()
  t.same(await it.texts(blobOf(it, '/old.html', 'old')), ['old'])
})

t.test('while the list of the files of a version is lost, nothing is collected', async (t) => {
  const it = await made(t)
  await it.deploy({ '/a.html': ['A'] })
  const orphan = await it.blobs.put(Buffer.from('orphan'))
  it.clock.move(2 * DAY)
  await t.rejects(it.collect({ blobs: { ...it.blobs, get: async () => undefined } }), {
    message: /with the list of a Worker's files is missing/,
  })
  t.same(await it.texts(orphan), ['orphan'])
})

t.test(
  'it runs soon after the start and then every hour until it is closed, also after a run that failed',
  async (t) => {
    const it = await made(t)
    const reported: object[] = []
    const note = (line: object) => void reported.push(line)
    let broken = true
    const blobs: Blobs = {
      ...it.blobs,
      async collect(named, age) {
        if (broken) throw new Error('the disk is gone')
        return await it.blobs.collect(named, age)
      },
    }
    const collector = startCollector({ ...it, blobs, log: { ...silentLog, info: note, warn: note } as Log })
    await it.blobs.put(Buffer.from('orphan'))
    it.clock.move(HOUR / 12)
    await until(() => reported.length === 1)
    t.same(reported, [{ event: 'orphans_not_collected', error: 'the disk is gone' }])
    broken = false
    it.clock.move(DAY + 1)
    await until(() => reported.length === 2)
    t.same(reported[1], { event: 'orphans_collected', blobs: 1 })
    await collector.close()
    await it.blobs.put(Buffer.from('another'))
    it.clock.move(2 * DAY)
    await new Promise((resolve) => setImmediate(resolve))
    t.equal(reported.length, 2)
  },
)
