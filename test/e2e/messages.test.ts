import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { testFolder } from '../helpers/folder.js'
import { freePort } from '../helpers/free-port.js'
import { tlsFile } from '../helpers/tls.js'
import { ask, originServer } from '../helpers/web.js'
import { CLI, configuration, startDaemon, TOKEN, unbuilt, ZONE } from './daemon.js'

const options = { skip: unbuilt }
const PERMISSIONS = ['--name', 'ci', '--permission', '*']

/** Runs a command, which ends by itself. */
const edged = async (args: readonly string[], env: Record<string, string> = {}) =>
  await new Promise<{ status: unknown; stdout: string; stderr: string }>((resolve) => {
    const given = { PATH: process.env['PATH'], ...env }
    execFile(process.execPath, [CLI, ...args], { env: given, timeout: 60_000 }, (error, stdout, stderr) =>
      resolve({ status: error?.code ?? 0, stdout, stderr }),
    )
  })

function file(folder: string, members: object): string {
  const path = join(folder, 'edged.yaml')
  const listen = { listen: '127.0.0.1:0' }
  writeFileSync(path, stringify({ proxy: listen, control: listen, admin: listen, ...members }))
  return path
}

const listed = (lines: readonly string[], event: string) =>
  lines.flatMap((line) => (line.startsWith('{') && line.includes(`"${event}"`) ? [JSON.parse(line) as object] : []))

/** Waits for a line of the log. */
async function logged(lines: readonly string[], event: string): Promise<object[]> {
  for (;;) {
    const found = listed(lines, event)
    if (found.length > 0) return found
    await sleep(20)
  }
}

t.test('a taken port names its option', options, async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const folder = testFolder(t)
  const listen = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const certificates = [{ cert_file: tlsFile('cert.pem'), key_file: tlsFile('key.pem') }]
  const LISTENERS: [option: string, members: object][] = [
    ['proxy.listen', { proxy: { listen } }],
    ['proxy.listen', { proxy: { listen }, processes: 2 }],
    ['proxy.tls.listen', { proxy: { listen: '127.0.0.1:0', tls: { listen, certificates } } }],
    ['control.listen', { control: { listen } }],
    ['admin.listen', { admin: { listen } }],
  ]
  for (const [option, members] of LISTENERS) {
    const { status, stderr } = await edged(['serve', '-c', file(folder, members)])
    t.equal(status, 1, option)
    t.match(stderr, `${option}: ${listen} is already in use; stop the other process or set ${option} to another port`)
  }
})

t.test('a data folder that cannot be created ends the command with the option', options, async (t) => {
  const folder = testFolder(t, { file: '' })
  for (const data of [join(folder, 'file'), join(folder, 'file/below'), '/proc/nothing/data']) {
    const path = file(folder, { data })
    const failed = { status: 1, stderr: /^edged: data: .*; set data to another folder\n$/ }
    t.match(await edged(['serve', '-c', path]), failed, data)
    t.match(await edged(['token', 'create', '-c', path, ...PERMISSIONS]), failed, data)
  }
})

t.test('a token is created while the daemon runs', options, async (t) => {
  const folder = testFolder(t)
  // The path of a socket must be short.
  const sockets = mkdtempSync(join(tmpdir(), 'edged-'))
  t.teardown(() => rmSync(sockets, { recursive: true }))
  const port = await freePort()
  const tls = { cert_file: tlsFile('cert.pem'), key_file: tlsFile('key.pem') }
  const CONTROLS: [what: string, control: object][] = [
    ['http', { listen: `127.0.0.1:${port}` }],
    ['https', { listen: `127.0.0.1:${port}`, tls }],
    ['unix', { listen: `unix:${join(sockets, 'control.sock')}` }],
  ]
  for (const [what, control] of CONTROLS) {
    const own = join(folder, what)
    mkdirSync(own)
    const daemon = await startDaemon(t, configuration('http://127.0.0.1:9', { control }), own)
    const path = join(own, 'edged.yaml')
    const made = await edged(['token', 'create', '-c', path, ...PERMISSIONS])
    t.match(made, { status: 0, stdout: /^[\w-]{40}\n$/ }, what)
    if (what === 'http') {
      writeFileSync(
        path,
        stringify({ ...configuration('http://127.0.0.1:9', { control }), data: './data', tokens: [] }),
      )
      t.match(await edged(['token', 'create', '-c', path, ...PERMISSIONS]), {
        status: 1,
        stderr: /a running daemon has the store open.* name one with --token, or add one with permissions \["\*"\]/,
      })
      const given = ['token', 'create', '-c', path, ...PERMISSIONS, '--token']
      t.match(await edged([...given, made.stdout.trim()]), { status: 0, stdout: /^[\w-]{40}\n$/ })
      t.match(await edged([...given, 'wrong']), { status: 1, stderr: /the token was not created: / })
    }
    daemon.signal('SIGTERM')
    t.equal(await daemon.ended, 0)
  }
})

t.test('the log names refused hosts and denied destinations with the option', options, async (t) => {
  const origin = await originServer(t, (_request, response) => response.end())
  const logpush = { destinations: { allow_plain_http: true } }
  const daemon = await startDaemon(t, configuration(origin, { logpush }))
  const port = Number(new URL(daemon.proxy).port)
  t.equal((await ask(port, '/', { headers: { host: 'unknown.test' } })).status, 404)
  const hosts = await logged(daemon.lines, 'request_refused')
  t.match(hosts, [{ status: 404, host: 'unknown.test', reason: 'unknown_host' }])

  const destination = `http://127.0.0.1:${port}/logs`
  const response = await fetch(`${daemon.control}/zones/${ZONE}/logpush/jobs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ dataset: 'http_requests', destination_conf: destination }),
  })
  const { errors } = (await response.json()) as { errors: { message: string }[] }
  t.match(errors, [
    {
      message: `the destination address is not allowed; the operator can allow it with egress.allow_cidrs: ["127.0.0.1/32:${port}"]`,
    },
  ])
  t.match(await logged(daemon.lines, 'destination_denied'), [
    { host: '127.0.0.1', port, msg: `127.0.0.1 is not allowed; add 127.0.0.1/32:${port} to egress.allow_cidrs` },
  ])
})

t.test('an origin that refuses the connection is called that', options, async (t) => {
  const daemon = await startDaemon(t, configuration(`http://127.0.0.1:${await freePort()}`))
  const response = await fetch(daemon.proxy, { headers: { accept: 'application/json' } })
  t.equal(response.status, 502)
  t.match(await response.json(), { detail: 'The origin server refused the connection.' })
})

t.test('convert of an address says what to do', options, async (t) => {
  t.match(await edged(['convert', 'example.com/page']), {
    status: 1,
    stderr: 'edged: example.com/page: no such file; to convert a page of the web, name https://example.com/page\n',
  })
  const folder = import.meta.dirname
  t.match(await edged(['convert', folder]), {
    status: 1,
    stderr: `edged: ${folder}: is a folder; name its pages, as in ${folder}/*.html\n`,
  })
  t.match(await edged(['convert', 'missing.html']), { status: 1, stderr: 'edged: missing.html: no such file\n' })
  const port = await freePort()
  t.match(await edged(['convert', `http://127.0.0.1:${port}/`]), {
    status: 1,
    stderr: new RegExp(`cannot read the page from 127.0.0.1:${port}: .*ECONNREFUSED`),
  })
})
