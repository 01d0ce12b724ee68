import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { originServer, until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE } from './daemon.js'

const SPACES = `/accounts/${ACCOUNT}/storage/kv/namespaces`
const SETTING = `/zones/${ZONE}/settings/content_converter`
const isRoot = process.getuid?.() === 0
const NO_MOUNT = isRoot && spawnSync('unshare', ['-m', 'true']).status === 0 ? false : 'not permitted to mount'

t.test(
  'while the disk of the data folder is full, pages are served and changes refused, and all recovers',
  { skip: unbuilt || NO_MOUNT },
  async (t) => {
    const folder = testFolder(t)
    const data = join(folder, 'data')
    mkdirSync(data)
    t.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', data]).status, 0)
    t.teardown(() => spawnSync('umount', ['-l', data]))
    const origin = await originServer(t, (request, response) => {
      const headers = { 'content-type': 'text/css', 'cache-control': 'max-age=600' }
      response.writeHead(200, headers).end(`${request.url} ${'x'.repeat(100_000)}`)
    })
    const config = configuration(origin, {
      cache: { memory: '1MB', disk: { folder: './data/files', bytes: '40MB' } },
      control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
      logpush: { destinations: { allow_file_under: [folder] } },
    })
    const daemon = await startDaemon(t, config, folder)
    const call = async (method: string, path: string, body?: string) => {
      const type = path.includes('/edged/') ? 'application/x-ndjson' : 'application/json'
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': type }
      const response = await fetch(daemon.control + path, { method, headers, ...(body !== undefined && { body }) })
      return { status: response.status, text: await response.text() }
    }
    const job = { dataset: 'dns_logs', destination_conf: `file://${folder}/logs`, enabled: true }
    t.match(await call('POST', `/zones/${ZONE}/logpush/jobs`, JSON.stringify(job)), { status: 200 })
    const space = JSON.parse((await call('POST', SPACES, '{"title":"a"}')).text) as { result: { id: string } }
    const value = `${SPACES}/${space.result.id}/values/`
    const large = 'x'.repeat(300_000)
    t.match(await call('PUT', `${value}kept`, large), { status: 200 })

    const ballast = join(data, 'ballast')
    const fill = () => {
      const { bavail, bsize } = statfsSync(data)
      if (bavail > 0) writeFileSync(ballast, Buffer.alloc(bavail * bsize), { flag: 'a' })
    }
    fill()
    const refused = new Set<number>()
    const records = `${JSON.stringify({ QueryName: 'a'.repeat(200) })}\n`.repeat(2000)
    await until(async () => {
      fill()
      const results = [
        await call('PUT', `${value}more`, `${large}${refused.size}`),
        await call('PATCH', SETTING, JSON.stringify({ value: refused.size % 2 === 0 ? 'off' : 'on' })),
        await call('POST', `/zones/${ZONE}/edged/records/dns_logs`, records),
      ]
      for (const { status } of results) refused.add(status)
      return results.every(({ status }) => status >= 400)
    })
    for (const status of refused) t.ok([200, 202, 429, 503, 507].includes(status), `status ${status}`)
    t.ok(refused.has(507), 'changes get 507')
    for (let n = 0; n < 20; n++) {
      const page = await fetch(`${daemon.proxy}/style-${n}.css`)
      t.match([page.status, (await page.text()).length > 100_000], [200, true])
    }
    t.match(await call('GET', SETTING), { status: 200 })
    t.match(await call('GET', `${value}kept`), { status: 200, text: large })
    const ready = await fetch(`${daemon.admin}/readyz`)
    t.match([ready.status, await ready.text()], [503, /store|disk|space/])

    rmSync(ballast)
    await until(async () => (await call('PUT', `${value}kept`, 'new')).status === 200)
    await until(async () => (await call('PATCH', SETTING, '{"value":"on"}')).status === 200)
    await until(async () => (await call('POST', `/zones/${ZONE}/edged/records/dns_logs`, records)).status === 202)
    await until(async () => (await fetch(`${daemon.admin}/readyz`)).status === 200)
    t.match(await call('GET', `${value}kept`), { status: 200, text: 'new' })
  },
)

const PARTS: [folder: string, path: string, body: string, status: number, ready: RegExp][] = [
  ['blobs', 'value', 'x'.repeat(300_000), 507, /^the store of uploads and values cannot write: its disk is full/m],
  [
    'spool',
    'records',
    `${JSON.stringify({ QueryName: 'a' })}\n`,
    429,
    /^the log spool cannot write: its disk is full/m,
  ],
]
for (const [name, path, body, status, ready] of PARTS)
  t.test(
    `/readyz names ${name} while its disk is full, and responds 200 again without requests`,
    { skip: unbuilt || NO_MOUNT },
    async (t) => {
      const folder = testFolder(t)
      const mounted = join(folder, 'data', name)
      mkdirSync(mounted, { recursive: true })
      t.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', mounted]).status, 0)
      t.teardown(() => spawnSync('umount', ['-l', mounted]))
      const origin = await originServer(t, (_, response) => response.end('page'))
      const logpush = { destinations: { allow_file_under: [folder] } }
      const daemon = await startDaemon(t, configuration(origin, { logpush }), folder)
      const call = async (method: string, path: string, body: string) => {
        const type = path.includes('/edged/') ? 'application/x-ndjson' : 'application/json'
        const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': type }
        const response = await fetch(daemon.control + path, { method, headers, body })
        return { status: response.status, text: await response.text() }
      }
      const probe = async () => {
        const response = await fetch(`${daemon.admin}/readyz`)
        return { status: response.status, text: await response.text() }
      }
      const job = { dataset: 'dns_logs', destination_conf: `file://${folder}/logs`, enabled: true }
      t.match(await call('POST', `/zones/${ZONE}/logpush/jobs`, JSON.stringify(job)), { status: 200 })
      const space = JSON.parse((await call('POST', SPACES, '{"title":"a"}')).text) as { result: { id: string } }
      const write = async () =>
        path === 'value'
          ? await call('PUT', `${SPACES}/${space.result.id}/values/a`, body)
          : await call('POST', `/zones/${ZONE}/edged/records/dns_logs`, body)
      t.equal((await write()).status < 300, true)
      t.match(await probe(), { status: 200, text: 'ok\n' })

      const { bavail, bsize } = statfsSync(mounted)
      const ballast = join(mounted, 'ballast.tmp')
      writeFileSync(ballast, Buffer.alloc(bavail * bsize))
      await until(async () => (await write()).status === status)
      t.match(await probe(), { status: 503, text: ready })
      t.equal((await fetch(daemon.proxy)).status, 200)

      rmSync(ballast)
      await until(async () => (await probe()).status === 200)
      t.strictSame(await probe(), { status: 200, text: 'ok\n' })
      t.equal((await write()).status < 300, true)
    },
  )
