import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { get as getSecurely } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { freePort } from '../helpers/free-port.js'
import { testFolder } from '../helpers/folder.js'
import { NO_PEBBLE, startPebble } from '../helpers/pebble.js'
import { CA_FILE } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { CLI, startDaemon, TOKEN, unbuilt } from './daemon.js'

/** The places of a site that moves. */
interface Old {
  readonly folder: string
  readonly site: number
  readonly api: number
}

const CADDYFILE = ({ folder, site, api }: Old) => `kestrel.test {
	encode gzip
	reverse_proxy 127.0.0.1:${site}
	log {
		output file ${folder}/access.log
	}
}
api.kestrel.test {
	handle_path /v1/* {
		reverse_proxy 127.0.0.1:${api}
	}
	handle {
		respond "no such version" 404
	}
}
docs.kestrel.test {
	root * ${folder}/public
	file_server
}
old.kestrel.test {
	redir https://kestrel.test{uri} permanent
}
admin.kestrel.test {
	header X-Frame-Options DENY
	reverse_proxy 127.0.0.1:${site}
}
`

const NGINX_CONF = ({ folder, site, api }: Old) => `events {}
http {
    access_log ${folder}/access.log combined;
    gzip on;
    server { listen 80; server_name kestrel.test; location / { proxy_pass http://127.0.0.1:${site}; } }
    server {
        listen 80; server_name api.kestrel.test;
        location /v1/ { proxy_pass http://127.0.0.1:${api}/; }
        location / { return 404 "no such version"; }
    }
    server { listen 80; server_name docs.kestrel.test; root ${folder}/public; index index.html; }
    server { listen 80; server_name old.kestrel.test; return 301 https://kestrel.test$request_uri; }
    server { listen 80; server_name admin.kestrel.test; add_header X-Frame-Options DENY; location / { proxy_pass http://127.0.0.1:${site}; } }
}
`

const COMBINED = [200, 404, 503].map(
  (status) => `192.0.2.7 - - [21/Nov/2026:12:00:00 +0000] "GET /a?b HTTP/1.1" ${status} 12 "-" "curl/8.5.0"`,
)
const CADDY = [200, 404, 503].map((status) =>
  JSON.stringify({ ts: 1795867200, request: { method: 'GET', host: 'kestrel.test', uri: '/a?b' }, status }),
)

const MOVES = [
  { kind: 'caddy', file: 'Caddyfile', config: CADDYFILE, log: CADDY, format: 'json' },
  { kind: 'nginx', file: 'nginx.conf', config: NGINX_CONF, log: COMBINED, format: 'combined' },
] as const

const edged = (args: readonly string[], input = '') =>
  spawnSync(process.execPath, [CLI, ...args], { encoding: 'utf8', input, env: { PATH: process.env['PATH'] } })

async function origin(t: Test, name: string): Promise<number> {
  const server = createServer(({ url }, response) => response.end(`${name} ${url}`)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

interface Zone {
  readonly name: string
  readonly rules?: object
}

for (const { kind, file, config, log, format } of MOVES)
  t.test(
    `five sites of ${kind} move: import, check, serve, HTTPS, a rate limit, the old access log, a password`,
    { skip: unbuilt || NO_PEBBLE, timeout: 240_000 },
    async (t) => {
      const steps: string[] = []
      let last = performance.now()
      const done = (step: string): void => {
        const now = performance.now()
        steps.push(`${step} ${((now - last) / 1000).toFixed(1)} s`)
        last = now
      }
      const folder = testFolder(t)
      const [site, api] = [await origin(t, 'site'), await origin(t, 'api')]
      mkdirSync(join(folder, 'public'))
      writeFileSync(join(folder, 'public/index.html'), '<h1>Docs</h1>')
      writeFileSync(join(folder, 'access.log'), `${log.join('\n')}\n`)
      writeFileSync(join(folder, file), config({ folder, site, api }))

      const made = join(folder, 'imported.yaml')
      const imported = edged(['import', kind, join(folder, file), '-o', made])
      t.ok([0, 6].includes(imported.status ?? 1), imported.stderr)
      t.match(edged(['check', made]), { status: 0, stdout: /imported\.yaml: ok/ })
      done('import and check')

      // The listeners of the move: free ports beside the old server, and the certificate authority of the test.
      const [directory, adminPort, port, tlsPort] = [
        await freePort(),
        await freePort(),
        await freePort(),
        await freePort(),
      ]
      const acme = {
        directory: `https://localhost:${directory}/dir`,
        email: 'ops@kestrel.test',
        agree_to_terms: true,
        ca_file: CA_FILE,
      }
      const {
        proxy = {},
        access_log: _,
        ...rest
      } = parse(readFileSync(made, 'utf8')) as {
        proxy?: object
        access_log?: object
        zones: Zone[]
      }
      const whole = {
        ...rest,
        proxy: { ...proxy, listen: `127.0.0.1:${port}`, tls: { listen: `127.0.0.1:${tlsPort}`, acme } },
        admin: { listen: `127.0.0.1:${adminPort}` },
        tokens: [{ name: 'admin', token: TOKEN, permissions: ['*'], accounts: ['*'], zones: ['*'] }],
      }
      await startPebble(t, folder, { port: directory, httpPort: port, tlsPort })
      const daemon = await startDaemon(t, whole, folder)
      const own = join(folder, 'edged.yaml')
      const reload = async (next: object): Promise<void> => {
        await daemon.reload(next)
        t.match(edged(['reload', '-c', own]), { status: 0 })
      }
      done('serve')

      const ask = async (name: string, path = '/', headers: object = {}) => {
        const sent = getSecurely({
          host: '127.0.0.1',
          port: tlsPort,
          servername: name,
          path,
          agent: false,
          rejectUnauthorized: false,
          headers: { host: name, ...headers },
        })
        const [response] = (await once(sent, 'response')) as [IncomingMessage]
        return { status: response.statusCode, headers: response.headers, body: await text(response) }
      }
      const names = whole.zones.map(({ name }) => name)
      t.equal(names.length, 5)
      for (const name of names) await until(async () => (await ask(name).catch(() => undefined)) !== undefined)
      const status = JSON.parse(edged(['status', '-c', own, '--json']).stdout) as { certificates: object[] }
      t.equal(status.certificates.length, 5)
      t.match(await ask('kestrel.test', '/a?b=c'), { status: 200, body: 'site /a?b=c' })
      t.match(await ask('api.kestrel.test', '/v1/users'), { status: 200, body: 'api /users' })
      t.match(await ask('api.kestrel.test', '/v2/users'), { status: 404, body: /^no such version/ })
      t.match(await ask('docs.kestrel.test'), { status: 200, body: '<h1>Docs</h1>' })
      t.match(await ask('old.kestrel.test', '/x?y'), {
        status: 301,
        headers: { location: 'https://kestrel.test/x?y' },
      })
      t.match(await ask('admin.kestrel.test'), { status: 200, headers: { 'x-frame-options': 'DENY' } })
      done('HTTPS for five sites')

      const edit = (name: string, change: (zone: Zone) => object) => ({
        ...whole,
        zones: whole.zones.map((zone) => (zone.name === name ? { ...zone, ...change(zone) } : zone)),
      })
      const ratelimit = { characteristics: ['ip.src'], period: 60, requests_per_period: 2, mitigation_timeout: 60 }
      const limit = { expression: 'http.request.uri.path eq "/login"', action: 'block', ratelimit }
      await reload(edit('kestrel.test', ({ rules }) => ({ rules: { ...rules, http_ratelimit: [limit] } })))
      const statuses = []
      for (let i = 0; i < 4; i++) statuses.push((await ask('kestrel.test', '/login')).status)
      t.same(statuses, [200, 200, 429, 429])
      t.equal((await ask('kestrel.test', '/other')).status, 200)
      done('a rate limit')

      mkdirSync(join(folder, 'requests'))
      const pipeline = join(folder, 'old-log.yaml')
      writeFileSync(
        pipeline,
        `source: { file: { paths: [${folder}/access.log] }, format: ${format} }\ndataset: any\ndestination_conf: file://${folder}/requests\n`,
      )
      t.match(edged(['check', pipeline]), { status: 0 })
      t.match(edged(['run', pipeline]), { status: 0 })
      const written = readdirSync(join(folder, 'requests'), { recursive: true, withFileTypes: true })
      t.ok(written.some((entry) => entry.isFile()))
      done('the old access log')

      const hashed = edged(['hash-password', 'alice'], 'correct horse\n')
      t.match(hashed, { status: 0, stdout: /^alice:\$2[aby]\$/ })
      writeFileSync(join(folder, 'htpasswd'), hashed.stdout)
      const auth = { basic: { realm: 'Admin', users_file: './htpasswd' } }
      await reload(edit('admin.kestrel.test', () => ({ auth })))
      t.match(await ask('admin.kestrel.test'), { status: 401, headers: { 'www-authenticate': /^Basic realm="Admin"/ } })
      const credentials = (password: string) => ({
        authorization: `Basic ${Buffer.from(`alice:${password}`).toString('base64')}`,
      })
      t.equal((await ask('admin.kestrel.test', '/', credentials('wrong'))).status, 401)
      t.match(await ask('admin.kestrel.test', '/', credentials('correct horse')), { status: 200, body: 'site /' })
      done('a password')
      t.comment(`${kind}: ${steps.join(', ')}`)
    },
  )
