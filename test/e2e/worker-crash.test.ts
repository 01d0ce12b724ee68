import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { ASSET_SESSIONS } from '../../src/core/model/worker-assets.js'
import { WORKER_VERSIONS, type StoredDeployment } from '../../src/core/model/worker.js'
import { openStore } from '../../src/store/index.js'
import { openBlobs } from '../../src/store/open-blobs.js'
import { readManifest } from '../../src/workers/assets/manifest.js'
import { collectOrphans } from '../../src/workers/orphan-collector.js'
import { testFolder } from '../helpers/folder.js'
import { ask, until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'
import { call, uploadFiles, uploadScript, workersOf } from './worker-client.js'

const KILLS = Number(process.env['EDGED_KILLS'] ?? 5)
const CLIENTS = 8
const DAY = 86_400_000
const CONFIG = configuration('http://127.0.0.1:9', {
  zones: [{ id: ZONE, account: ACCOUNT, name: 'example.test', origin: 'http://127.0.0.1:9' }],
  control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
  // What is stored counts here, not what runs.
  workers: { runtime: 'off', retention: { versions: 3 } },
})

/** One script that somebody uploads over and over: what was acknowledged last, and what may be under way. */
interface Reported {
  readonly name: string
  /** Has files and no code; the others have modules. */
  readonly site: boolean
  acknowledged: number
  asked: number
}

/** Every part of an upload tells its number, so that a mix would show two. The number decides how long parts are. */
const part = (n: number, letter: string): string =>
  `change ${n} `.padEnd(((n * 7919 + letter.charCodeAt(0)) % 50) * 1000, letter)

async function upload(daemon: Daemon, { name, site }: Reported, n: number): Promise<number> {
  const annotations = { 'workers/message': `change ${n}` }
  if (site) {
    const files = new Map(
      ['a', 'b', 'c', 'd'].map((letter) => [`/${letter}.txt`, Buffer.from(part(n, letter))] as const),
    )
    const { jwt } = await uploadFiles(daemon, name, files, 'text/plain')
    return (await uploadScript(daemon, name, { assets: { jwt }, annotations })).status
  }
  const bindings = [{ type: 'plain_text', name: 'CHANGE', text: `change ${n} ` }]
  const modules = {
    'main.js': `export default { fetch() {} } // ${part(n, 'm')}`,
    'a.txt': part(n, 'a'),
    'b.txt': part(n, 'b'),
  }
  return (await uploadScript(daemon, name, { bindings, annotations }, modules)).status
}

/** Uploads a script over and over, until the daemon is gone. */
async function write(daemon: Daemon, reported: Reported): Promise<void> {
  try {
    for (;;) {
      reported.asked += 1
      const status = await upload(daemon, reported, reported.asked)
      if (status !== 200) throw new Error(`an upload of ${reported.name} was answered with ${status}`)
      reported.acknowledged = reported.asked
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // The daemon is gone, as it was to be.
  }
}

/** What the parts of a script say, as it is deployed. */
async function parts(daemon: Daemon, { name, site }: Reported): Promise<string[]> {
  const path = `/scripts/${name}`
  const { result } = await call<{ deployments: StoredDeployment[] }>(daemon, 'GET', `${path}/deployments`)
  const id = result.deployments[0]?.versions[0]?.version_id ?? 'none'
  type Version = { annotations: Record<string, string>; resources: { bindings: { text: string }[] } }
  const { result: version } = await call<Version>(daemon, 'GET', `${path}/versions/${id}`)
  const said = [`${version.annotations['workers/message']} `, ...version.resources.bindings.map(({ text }) => text)]
  if (site) {
    const port = Number(new URL(daemon.proxy).port)
    for (const letter of ['a', 'b', 'c', 'd']) {
      const { status, body } = await ask(port, `/${letter}.txt`, { headers: { host: `${name}.example.test` } })
      said.push(status === 200 ? body.toString() : `status ${status}`)
    }
  } else {
    const headers = { authorization: `Bearer ${TOKEN}` }
    const response = await fetch(`${workersOf(daemon)}${path}/content/v2`, { headers })
    if (response.status !== 200) return [...said, `status ${response.status}`]
    const form = await response.formData()
    for (const [, module] of form) said.push(typeof module === 'string' ? module : await module.text())
  }
  return said
}

async function check(t: Test, daemon: Daemon, clients: readonly Reported[]): Promise<void> {
  let wrong = 0
  for (const reported of clients) {
    const { name, site, acknowledged, asked } = reported
    const said = await parts(daemon, reported)
    const found = Number(/change (\d+) /.exec(said[0] ?? '')?.[1])
    const whole = site
      ? said.slice(1).every((text, at) => text === part(found, 'abcd'[at]!))
      : said.slice(1).join('\n') ===
        [
          `change ${found} `,
          `export default { fetch() {} } // ${part(found, 'm')}`,
          part(found, 'a'),
          part(found, 'b'),
        ].join('\n')
    if (found >= acknowledged && found <= asked && whole && said.length === 5) continue
    wrong++
    t.fail('a script is as it was uploaded', { name, acknowledged, asked, said: said.map((text) => text.slice(0, 20)) })
  }
  const done = clients.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
  t.equal(wrong, 0, `${done} acknowledged uploads stand, none is a mix`)
}

/** Collects what a stopped daemon has left, as if days had passed, and tells which blobs there are and which there should be. */
async function collected(folder: string): Promise<{ gone: number; there: string[]; needed: string[] }> {
  let now = Date.now()
  const began = now
  const clock = { ...systemClock, now: () => now, monotonic: () => now - began }
  const store = await openStore('embedded', { folder, log: silentLog, clock })
  const blobs = await openBlobs('embedded', { folder, clock, log: silentLog })
  const deps = { store, blobs, clock, log: silentLog, olderThanMs: () => DAY }
  let gone = 0
  for (let run = 0; run < 2; run++) {
    now += 2 * DAY
    gone += await collectOrphans(deps)
  }
  const needed = new Set<string>()
  for (const { value } of store.list(WORKER_VERSIONS)) {
    for (const { blob } of value.modules) needed.add(blob)
    const { manifest } = value.assets ?? {}
    if (manifest === undefined) continue
    needed.add(manifest)
    for (const { blob } of readManifest((await blobs.get(manifest))!).values()) needed.add(blob)
  }
  if (store.count(ASSET_SESSIONS) > 0) throw new Error('an upload is still open after days')
  await store.close()
  const files = await readdir(join(folder, 'blobs'), { recursive: true, withFileTypes: true })
  const there = files.filter((file) => file.isFile()).map(({ name }) => name)
  return { gone, there: there.sort(), needed: [...needed].sort() }
}

t.test(
  'kill -9 during uploads: each script is its old or its new version, and what broke off is cleared away',
  { skip: unbuilt, timeout: 600_000 },
  async (t) => {
    const folder = testFolder(t)
    const clients: Reported[] = Array.from({ length: CLIENTS }, (_, i) => ({
      name: `script-${i}`,
      site: i % 2 === 0,
      acknowledged: 0,
      asked: 0,
    }))
    const sum = () => clients.reduce((total, { acknowledged }) => total + acknowledged, 0)
    for (let kill = 0; kill < KILLS; kill++) {
      const daemon = await startDaemon(t, CONFIG, folder)
      if (kill === 0)
        for (const reported of clients) {
          t.equal(await upload(daemon, reported, 0), 200)
          if (reported.site)
            t.match(
              await call(daemon, 'PUT', '/domains', {
                hostname: `${reported.name}.example.test`,
                service: reported.name,
              }),
              { status: 200 },
            )
        }
      await check(t, daemon, clients)
      const before = sum()
      const writing = clients.map((reported) => write(daemon, reported))
      await until(() => sum() > before)
      await wait(Math.random() * 500)
      daemon.signal('SIGKILL')
      await Promise.all([...writing, daemon.ended])
    }
    const daemon = await startDaemon(t, CONFIG, folder)
    await check(t, daemon, clients)
    for (const reported of clients)
      t.equal(await upload(daemon, reported, ++reported.asked), 200, 'and can be uploaded again')
    for (const reported of clients) reported.acknowledged = reported.asked
    daemon.signal('SIGTERM')
    t.equal(await daemon.ended, 0)

    const { gone, there, needed } = await collected(join(folder, 'data'))
    t.ok(gone > 0, `${gone} blobs went`)
    t.strictSame(there, needed, 'no more is left than versions are made of')
    await check(t, await startDaemon(t, CONFIG, folder), clients)
  },
)
