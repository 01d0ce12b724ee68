// Every proxy behind one face: start(originPort, folder) gives { port, pid, stop }, or undefined where it is not installed.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { accepting, freePort, installed } from './ports.mjs'

export const PROXIES = {
  edged: startEdged,

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

  'undici dispatch on node:http, bare': async (origin) => await forked('./undici-child.mjs', origin),

  'http-proxy': async (origin) => await forked('./http-proxy-child.mjs', origin),

  async nginx(origin, folder) {
    if (!installed('nginx')) return undefined
    const port = await freePort()
    writeFileSync(
      `${folder}/nginx.conf`,
      `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
      events { worker_connections 1024; }
      http { access_log off; client_body_temp_path ${folder}; proxy_temp_path ${folder}; fastcgi_temp_path ${folder};
        uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
        upstream origin { server 127.0.0.1:${origin}; keepalive 256; }
        server { listen 127.0.0.1:${port}; keepalive_requests 10000000;
          location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; } } }`,
    )
    const child = spawn('nginx', ['-c', `${folder}/nginx.conf`], { stdio: 'ignore' })
    await accepting(port)
    return { port, ...process_(child) }
  },

  async caddy(origin, folder) {
    if (!installed('caddy')) return undefined
    const port = await freePort()
    writeFileSync(
      `${folder}/Caddyfile`,
      `{\n admin off\n auto_https off\n}\nhttp://:${port} {\n bind 127.0.0.1\n reverse_proxy 127.0.0.1:${origin}\n}\n`,
    )
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    const args = ['run', '--config', `${folder}/Caddyfile`, '--adapter', 'caddyfile']
    const child = spawn('caddy', args, { stdio: 'ignore', env })
    await accepting(port)
    return { port, ...process_(child) }
  },
}

async function forked(module, origin) {
  const child = fork(new URL(module, import.meta.url), [`http://127.0.0.1:${origin}`])
  const [{ port }] = await once(child, 'message')
  return { port, ...process_(child) }
}

const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const TOKEN = 'bench-token-with-every-permission'

/** Starts the built daemon; `more` is added to its configuration. */
export async function startEdged(origin, parent, more = '') {
  // Each with data of its own: one folder, one daemon.
  const folder = mkdtempSync(join(parent, 'edged-'))
  writeFileSync(`${folder}/edged.yaml`, edgedConfig(origin) + more)
  const cli = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
  const child = spawn(process.execPath, [cli, 'serve', '-c', `${folder}/edged.yaml`])
  for await (const line of child.stdout) {
    const ready = String(line)
      .split('\n')
      .find((text) => text.includes('"event":"ready"'))
    if (!ready) continue
    const { proxy, control, admin } = JSON.parse(ready)
    return { port: Number(new URL(proxy).port), control: control.replace(/\/$/, ''), admin, ...process_(child) }
  }
}

/** Firewall rules of everyday shapes, none of which matches the load. */
function mixedRules(count) {
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

const edgedConfig = (origin) => `data: ./data
store: memory
log: { level: info }
proxy: { listen: "127.0.0.1:0" }
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
