import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, get as httpGet, type IncomingMessage } from 'node:http'
import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { rm, writeFile } from 'node:fs/promises'
import { hashSync } from 'bcryptjs'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { testFolder } from '../helpers/folder.js'
import { tlsFile } from '../helpers/tls.js'
import { ACCOUNT, CLI, configuration, startDaemon, unbuilt, ZONE, type Daemon } from './daemon.js'

const HASH = hashSync('secret', 4)
const AUTHORIZATION = { authorization: `Basic ${Buffer.from('alice:secret').toString('base64')}` }
const skip = { skip: unbuilt }

const zone = (origin: string, more: object = {}): object =>
  configuration(origin, {
    zones: [
      {
        id: ZONE,
        account: ACCOUNT,
        name: 'example.test',
        hostnames: ['example.test', 'receiver.test'],
        origin,
        paths: [
          { path: '/admin/*', auth: { basic: { users_file: './htpasswd' } } },
          { path: '/demo/*', origin: 'demo', strip_prefix: '/demo' },
        ],
        rules: {
          http_request_transform: [
            {
              expression: 'starts_with(http.request.uri.path, "/admin/")',
              action: 'rewrite',
              action_parameters: { uri: { path: { value: '/rewritten' } } },
            },
            {
              expression: 'http.request.uri.path eq "/shown"',
              action: 'rewrite',
              action_parameters: { uri: { path: { value: '/admin/shown' } } },
            },
          ],
        },
      },
    ],
    ...more,
  })

async function origin(t: Test): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(request.url!)
    response.end(`page ${request.url}`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

/** Sends a request with its path as it is. */
async function overHttp1({ proxy }: Daemon, path: string, headers: Record<string, string> = {}) {
  const sent = httpGet({ port: new URL(proxy).port, path, headers: { host: 'example.test', ...headers }, agent: false })
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode, text: await text(response) }
}

/** Sends a request over HTTP/2. */
async function overHttp2(daemon: Daemon, path: string, headers: Record<string, string> = {}): Promise<number> {
  const ready = JSON.parse(daemon.lines.find((line) => line.includes('"event":"ready"'))!) as { proxy_tls: string }
  const session = connect(ready.proxy_tls, { rejectUnauthorized: false, servername: 'receiver.test' })
  try {
    const stream = session.request({ ':path': path, ':authority': 'receiver.test', ...headers })
    const [fields] = (await once(stream, 'response')) as [Record<string, number>]
    stream.resume()
    return fields[':status']!
  } finally {
    session.close()
  }
}

for (const processes of [1, 2])
  t.test(`authentication by path, over HTTP/2 and after rewrites, in ${processes} process(es)`, skip, async (t) => {
    const { url, seen } = await origin(t)
    const folder = testFolder(t)
    await writeFile(join(folder, 'htpasswd'), `alice:${HASH}\n`)
    const certificates = [{ cert_file: tlsFile('cert.pem'), key_file: tlsFile('key.pem') }]
    const tls = { listen: '127.0.0.1:0', http2: 'on', certificates }
    const daemon = await startDaemon(t, zone(url, { processes, proxy: { tls } }), folder)
    const get = async (path: string, headers = {}) => await overHttp1(daemon, path, headers)

    for (const path of ['/admin/x', '/open/../admin/x', '/admin;x/..', '/open/..;/admin/x', '/%61dmin/x']) {
      t.equal((await get(path)).status, 401, path)
      t.equal(await overHttp2(daemon, path), 401, `${path} over HTTP/2`)
    }
    t.same(seen, [])
    t.match(await get('/admin/x', AUTHORIZATION), { status: 200, text: 'page /rewritten' })
    t.equal(await overHttp2(daemon, '/admin/x', AUTHORIZATION), 200)
    // The path as it was sent counts, not the path that a rule makes of it.
    t.match(await get('/shown'), { status: 200, text: 'page /admin/shown' })
    t.equal((await get('/demo/')).status, 200, 'the sample site below a path')

    await rm(join(folder, 'htpasswd'))
    const isLogged = () => daemon.lines.some((line) => line.includes('"event":"users_file_unreadable"'))
    while (!isLogged()) t.equal((await get('/admin/x', AUTHORIZATION)).status, 200, 'the last users stay')
    t.match(daemon.lines.join('\n'), /"file":"[^"]*htpasswd","reason":"[^"]+","users":1/)
  })

t.test('check and the start name the line of a file of users that is missing', skip, async (t) => {
  const folder = testFolder(t)
  const file = join(folder, 'edged.yaml')
  await writeFile(file, stringify({ data: './data', ...zone('http://127.0.0.1:9') }))
  for (const args of [
    ['check', file],
    ['serve', '-c', file],
  ]) {
    const { status, stderr } = spawnSync(process.execPath, [CLI, ...args], { encoding: 'utf8', timeout: 60_000 })
    t.equal(status, 2, args.join(' '))
    t.match(stderr, /edged\.yaml:\d+:\d+: zones\.0\.paths\.0\.auth\.basic\.users_file .*htpasswd cannot be read/)
  }
  await writeFile(join(folder, 'htpasswd'), 'alice:plain\n')
  const { stderr } = spawnSync(process.execPath, [CLI, 'check', file], { encoding: 'utf8', timeout: 60_000 })
  t.match(stderr, /htpasswd:1 is not NAME:HASH with a bcrypt hash/)
  t.notMatch(stderr, /plain/)
})
