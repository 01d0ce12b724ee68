import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { testFolder } from '../helpers/folder.js'
import { CLI, configuration, startDaemon, unbuilt } from './daemon.js'

/** Resolves when `check` returns a value. */
async function until<T>(check: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await check()
    if (found !== undefined && found !== false) return found
    await sleep(20)
  }
}

/** Returns a short path in a folder of its own: the path of a unix socket has at most 107 bytes. */
async function socketFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'edged-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const demo = (more: object): object => {
  const config = configuration('demo', more) as { zones: object[] }
  return { ...config, zones: config.zones.map((zone) => ({ ...zone, hostnames: ['*'] })) }
}

const textOf = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '')

t.test('the access log is written to a file that SIGHUP opens again', { skip: unbuilt }, async (t: Test) => {
  const folder = testFolder(t)
  const file = join(folder, 'access.log')
  const config = demo({ access_log: { format: 'combined', file: './access.log' } })
  const daemon = await startDaemon(t, config, folder)
  await fetch(`${daemon.proxy}/one`)
  await until(async () => (await textOf(file)).includes('"GET /one HTTP/1.1" 404 '))

  await rename(file, `${file}.1`)
  await daemon.reload(config)
  await fetch(`${daemon.proxy}/two`)
  await until(async () => (await textOf(file)).includes('"GET /two HTTP/1.1"'))
  t.notMatch(await textOf(`${file}.1`), '/two')

  await daemon.reload(demo({ access_log: { file: './missing/access.log' } }), 'reload_failed')
  t.match(daemon.lines.at(-1), 'access_log.file: cannot open')
  await daemon.reload(demo({ access_log: { file: '-' } }))
  await fetch(`${daemon.proxy}/three`)
  const line = await until(async () => daemon.lines.find((line) => line.includes('"event":"request"')))
  t.match(JSON.parse(line), { method: 'GET', uri: '/three', status: 404 })
})

t.test('a long configuration file is read in a thread when it changes', { skip: unbuilt }, async (t: Test) => {
  const config = (count: number, more: object = {}): object => {
    const { zones, ...rest } = configuration('demo', {
      processes: 2,
      pipelines: [
        { name: 'p', source: { http: { listen: '127.0.0.1:0' } }, dataset: 'any', destination_conf: 'file:out' },
      ],
    }) as { zones: object[] }
    const ids = Array.from({ length: count }, (_, n) => n.toString(16).padStart(32, '0'))
    const others = ids.map((id) => ({
      ...structuredClone(zones[0]),
      id,
      name: `z${id}.test`,
      hostnames: [`z${id}.test`],
      ...more,
    }))
    return { ...rest, zones: [...zones, ...others] }
  }
  const daemon = await startDaemon(t, config(250))
  const changed = () =>
    (JSON.parse(daemon.lines.findLast((line) => line.includes('"reloaded"'))!) as { changed: string[] }).changed
  await daemon.reload(config(250))
  t.strictSame(changed(), [])
  await daemon.reload(config(251))
  t.strictSame(changed(), [`zones: added z${(250).toString(16).padStart(32, '0')}.test`])
  const { port } = new URL(daemon.proxy)
  const status = await new Promise((resolve) => {
    get({ port, headers: { host: `z${(250).toString(16).padStart(32, '0')}.test` } }, (response) =>
      resolve(response.resume().statusCode),
    )
  })
  t.equal(status, 200)

  await daemon.reload(config(250, { plan: 'paid' }), 'reload_failed')
  const { error } = JSON.parse(daemon.lines.at(-1)!) as { error: string }
  t.equal(error.split('\n').length, 250)
  t.match(error, /edged\.yaml:\d+:\d+: zones\.1\.plan must be one of "free"/)
})

t.test('with a shutdown delay the proxy serves while /readyz says 503', { skip: unbuilt }, async (t: Test) => {
  const daemon = await startDaemon(t, demo({ proxy: { shutdown_delay: '1s' } }))
  t.equal((await fetch(`${daemon.admin}/readyz`)).status, 200)
  daemon.signal('SIGTERM')
  await until(async () => (await fetch(`${daemon.admin}/readyz`)).status === 503)
  t.equal((await fetch(`${daemon.proxy}/`)).status, 200)
  t.equal(await daemon.ended, 0)
})

/** Runs a command and waits for its end, while the daemon of the test goes on. */
async function edged(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number | null, out, err }
}

t.test('init writes a file that check accepts and serve serves', { skip: unbuilt }, async (t: Test) => {
  const folder = join(testFolder(t), 'new')
  const first = await edged('init', folder)
  t.equal(first.code, 0, first.err)
  const file = join(folder, 'edged.yaml')
  const content = await readFile(file, 'utf8')
  const token = /edged_[\w-]{40}/.exec(first.out)?.[0] ?? 'none'
  t.match(content, token, 'the token that is printed is that of the file')
  t.equal((await stat(file)).mode & 0o777, 0o600)
  t.equal((await edged('check', file)).code, 0)

  const again = await edged('init', folder)
  t.equal(again.code, 2)
  t.match(again.err, /exists already/)
  t.equal(await readFile(file, 'utf8'), content, 'the file is not replaced')
  t.equal((await edged('init', join(folder, 'b'), '--origin', 'nonsense')).code, 2)
  const other = await edged('init', join(folder, 'c'), '--name', 'a.test', '--origin', 'http://127.0.0.1:1', '--json')
  t.match(JSON.parse(other.out), { file: join(folder, 'c', 'edged.yaml'), token: /^edged_/ })
  t.match(await readFile(join(folder, 'c', 'edged.yaml'), 'utf8'), 'name: "a.test"')

  const config = parse(content) as { zones: object[]; accounts: object[]; tokens: object[] }
  const daemon = await startDaemon(t, { zones: config.zones, accounts: config.accounts, tokens: config.tokens })
  t.equal((await fetch(`${daemon.proxy}/`)).status, 200, 'any host is served')
  const zones = await fetch(`${daemon.control}/zones`, { headers: { authorization: `Bearer ${token}` } })
  t.equal(zones.status, 200)
})

t.test('status and reload find the daemon by its configuration file', { skip: unbuilt }, async (t: Test) => {
  const folder = await socketFolder(t)
  const admin = { listen: `unix:${join(folder, 'admin.sock')}` }
  const control = { listen: `unix:${join(folder, 'control.sock')}` }
  const file = join(folder, 'edged.yaml')
  t.match(await edged('status', '-c', file), { code: 1, err: /cannot read/ })
  const daemon = await startDaemon(t, demo({ admin, control }), folder)
  t.equal(daemon.admin, admin.listen)
  t.equal((await stat(join(folder, 'control.sock'))).mode & 0o777, 0o660)

  const shown = await edged('status', '-c', file)
  t.match(shown, { code: 0, out: /^edged \d.*ready\n/ })
  t.match(shown.out, 'example.test (*)')
  const status = JSON.parse((await edged('status', '-c', file, '--json')).out) as object
  t.match(status, { pid: daemon.pid, ready: true, last_reload: null, listeners: { proxy: daemon.proxy } })

  t.match(await edged('reload', '-c', file), { code: 0, out: 'reloaded; nothing changed\n' })
  const text = await readFile(file, 'utf8')
  await writeFile(file, text.replace('name: example.test', 'name: changed.test').replace('./data', './other'))
  const reloaded = await edged('reload', '-c', file)
  t.equal(reloaded.code, 0, reloaded.err)
  for (const line of [
    'zones: added changed.test',
    'zones: removed example.test',
    'restart the daemon to apply:\n  data\n',
  ])
    t.match(reloaded.out, line)

  await writeFile(file, `${text}\nunknown_option: 1\n`)
  t.match(await edged('reload', '-c', file), { code: 1, err: /unknown_option/ })
  t.match((await edged('status', '-c', file)).out, /the last reload failed: .*unknown_option/)

  daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0)
  t.match(await edged('status', '-c', file), { code: 1, err: /no daemon responds at unix:/ })
})

t.test('a browser page cannot reload the daemon', { skip: unbuilt }, async (t: Test) => {
  const daemon = await startDaemon(t, demo({}))
  const post = (headers: Record<string, string>) => fetch(`${daemon.admin}/reload`, { method: 'POST', headers })
  t.equal((await post({ origin: 'http://evil.test' })).status, 403)
  t.equal((await fetch(`${daemon.admin}/reload`)).status, 405)
  t.same(await (await post({})).json(), { changed: [], restart_needed: [] })
  t.match(await edged('reload', '--admin', daemon.admin), { code: 0 })
})

t.test('a socket file that a killed daemon left is replaced, one in use is not', { skip: unbuilt }, async (t: Test) => {
  const folder = await socketFolder(t)
  const admin = { listen: `unix:${join(folder, 'admin.sock')}` }
  const killed = await startDaemon(t, demo({ admin }), folder)
  killed.signal('SIGKILL')
  await killed.ended
  await startDaemon(t, demo({ admin }), folder)
  const file = join(folder, 'second.yaml')
  await writeFile(file, stringify({ data: './second', proxy: { listen: '127.0.0.1:0' }, admin }))
  t.match(await edged('serve', '-c', file), { code: 1, err: /admin\.sock is already in use/ })
  await writeFile(file, stringify({ data: './second', admin: { listen: `unix:${join(folder, 'x'.repeat(107))}` } }))
  t.match(await edged('serve', '-c', file), { code: 1, err: /too long/ })
})
