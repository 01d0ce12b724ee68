// Every proxy behind one face: start(originPort, folder) gives { port, tlsPort, pid, stop }, or undefined if it is not
// installed. Those without HTTPS have no tlsPort.
import { execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { accepting, freePort, hasPackage, installed } from './ports.mjs'

export const PROXIES = {
  edged: async (origin, folder) => await startEdged(origin, folder),

  async 'edged, 100 rules'(origin, folder) {
    const edged = await startEdged(origin, folder)
    const response = await fetch(
      `${edged.control}/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`,
      {
        method: 'PUT',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ rules: mixedRules(100) }),
      },
    )
    if (!response.ok) throw new Error(await response.text())
    return edged
  },

  // Each page names its Markdown: what that costs is the difference to the first row.
  'edged, with the hint': async (origin, folder) => await startEdged(origin, folder, '    agents: { hint: true }\n'),

  'undici dispatch on node:http, bare': async (origin) => await forked('./undici-child.mjs', origin),

  'http-proxy': async (origin) =>
    hasPackage('http-proxy') ? await forked('./http-proxy-child.mjs', origin) : undefined,

  async nginx(origin, folder) {
    if (!installed('nginx')) return undefined
    const [port, tlsPort] = [await freePort(), await freePort()]
    const { cert, key } = certificate(folder)
    writeFileSync(
      `${folder}/nginx.conf`,
      `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
      events { worker_connections 1024; }
      http { access_log off; client_body_temp_path ${folder}; proxy_temp_path ${folder}; fastcgi_temp_path ${folder};
        uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
        upstream origin { server 127.0.0.1:${origin}; keepalive 256; }
        server { listen 127.0.0.1:${port}; listen 127.0.0.1:${tlsPort} ssl http2; keepalive_requests 10000000;
          ssl_certificate ${cert}; ssl_certificate_key ${key}; ssl_protocols TLSv1.2 TLSv1.3;
          location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; } } }`,
    )
    const child = spawn('nginx', ['-c', `${folder}/nginx.conf`], { stdio: 'ignore' })
    await accepting(port)
    return { port, tlsPort, ...process_(child) }
  },

  async caddy(origin, folder) {
    if (!installed('caddy')) return undefined
    const [port, tlsPort] = [await freePort(), await freePort()]
    const { cert, key } = certificate(folder)
    writeFileSync(
      `${folder}/Caddyfile`,
      `{\n admin off\n auto_https off\n default_sni bench.test\n}
http://:${port} {\n bind 127.0.0.1\n reverse_proxy 127.0.0.1:${origin}\n}
https://bench.test:${tlsPort} {\n bind 127.0.0.1\n tls ${cert} ${key}\n reverse_proxy 127.0.0.1:${origin}\n}\n`,
    )
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    const args = ['run', '--config', `${folder}/Caddyfile`, '--adapter', 'caddyfile']
    const child = spawn('caddy', args, { stdio: 'ignore', env })
    await accepting(port)
    return { port, tlsPort, ...process_(child) }
  },
}

/** Returns the files of a certificate for bench.test, made once for a folder. */
function certificate(folder) {
  const [cert, key] = [`${folder}/cert.pem`, `${folder}/key.pem`]
  const options = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=bench.test', '-addext', 'subjectAltName=DNS:bench.test']
  if (!existsSync(cert))
    execFileSync('openssl', ['req', ...options, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return { cert, key }
}

async function forked(module, origin) {
  const child = fork(new URL(module, import.meta.url), [`http://127.0.0.1:${origin}`])
  const [{ port }] = await once(child, 'message')
  return { port, ...process_(child) }
}

export const ZONE = '9f1839b6152d298aca64c4e906b6d074'
export const TOKEN = 'bench-token-with-every-permission'

/** Starts the built daemon; `more` is added to its configuration. `args`: options of Node.js. `ipc`: with a channel for messages. */
export async function startEdged(origin, parent, more = '', { args = [], ipc = false } = {}) {
  // Each with data of its own: one folder, one daemon.
  const folder = mkdtempSync(join(parent, 'edged-'))
  writeFileSync(`${folder}/edged.yaml`, edgedConfig(origin, certificate(parent)) + more)
  const cli = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
  const stdio = ['pipe', 'pipe', 'pipe', ...(ipc ? ['ipc'] : [])]
  const child = spawn(process.execPath, [...args, cli, 'serve', '-c', `${folder}/edged.yaml`], { stdio })
  for await (const line of child.stdout) {
    const ready = String(line)
      .split('\n')
      .find((text) => text.includes('"event":"ready"'))
    if (!ready) continue
    const { proxy, proxy_tls: tls, control, admin } = JSON.parse(ready)
    const [port, tlsPort] = [proxy, tls].map((url) => Number(new URL(url).port))
    return { port, tlsPort, control: control.replace(/\/$/, ''), admin, child, ...process_(child) }
  }
}

/** Firewall rules of everyday shapes, none of which matches the load. */
export function mixedRules(count) {
  const shapes = [
    (i) => `http.host eq "h${i}.test" and starts_with(http.request.uri.path, "/p${i}")`,
    (i) => `http.request.uri.path contains "/secret-${i}"`,
    (i) => `ip.src in {10.${i}.0.0/16 172.16.${i}.0/24}`,
    (i) => `http.user_agent matches "(?i)bad-?bot/${i}\\\\."`,
    (i) => `any(http.request.headers["x-kind"][*] contains "kind-${i}")`,
    (i) => `http.request.method eq "DELETE" and not ssl and http.request.uri.query contains "id=${i}"`,
  ]
  return Array.from({ length: count }, (_, i) => ({ action: 'block', expression: shapes[i % shapes.length](i) }))
}

const process_ = (child) => ({
  pid: child.pid,
  async stop() {
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
  },
})

const edgedConfig = (origin, { cert, key }) => `data: ./data
store: memory
log: { level: info }
proxy:
  listen: 127.0.0.1:0
  tls: { listen: 127.0.0.1:0, http2: on, certificates: [{ cert_file: ${cert}, key_file: ${key} }] }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
accounts: [{ id: 023e105f4ecef8ad9ca31a8372d0c353, name: Bench }]
tokens: [{ name: bench, token: ${TOKEN}, permissions: ["*"] }]
zones:
  - id: ${ZONE}
    account: 023e105f4ecef8ad9ca31a8372d0c353
    name: bench.test
    origin: http://127.0.0.1:${origin}
    settings: { content_converter: on }
`
