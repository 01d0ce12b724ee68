// Caches behind one face: start(originPort, folder) gives { port, pid, stop }, or undefined if it is not installed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { accepting, freePort, installed } from './ports.mjs'

const CLI = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))

/** The daemon with these options of `cache`; null: without a cache. */
export const edged = (cache) => async (origin, parent) => {
  // Each with data of its own: one folder, one daemon.
  const folder = mkdtempSync(join(parent, 'edged-'))
  writeFileSync(`${folder}/edged.yaml`, configuration(origin, cache))
  const child = spawn(process.execPath, [CLI, 'serve', '-c', `${folder}/edged.yaml`])
  for await (const text of child.stdout) {
    const ready = String(text)
      .split('\n')
      .find((line) => line.includes('"event":"ready"'))
    if (ready) return running(child, Number(new URL(JSON.parse(ready).proxy).port))
  }
  return undefined
}

export async function nginx(origin, parent) {
  if (!installed('nginx')) return undefined
  const folder = mkdtempSync(join(parent, 'nginx-'))
  // Its workers would run as another user, who cannot write there.
  const asRoot = process.getuid() === 0 ? 'user root; ' : ''
  const port = await freePort()
  writeFileSync(
    `${folder}/nginx.conf`,
    `daemon off; ${asRoot}worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
    events { worker_connections 4096; }
    http { access_log off; client_body_temp_path ${folder}; proxy_temp_path ${folder}/t; fastcgi_temp_path ${folder};
      uwsgi_temp_path ${folder}; scgi_temp_path ${folder}; sendfile on; tcp_nopush on; open_file_cache max=1000;
      proxy_cache_path ${folder}/c levels=1:2 keys_zone=c:10m use_temp_path=off;
      upstream origin { server 127.0.0.1:${origin}; keepalive 256; }
      server { listen 127.0.0.1:${port} backlog=4096; keepalive_requests 10000000;
        location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
          proxy_cache c; proxy_cache_lock on; proxy_cache_lock_timeout 60s; add_header x-cache $upstream_cache_status; } } }`,
  )
  const child = spawn('nginx', ['-c', `${folder}/nginx.conf`], { stdio: 'ignore' })
  await accepting(port)
  return running(child, port)
}

export async function varnish(origin) {
  if (!installed('varnishd')) return undefined
  // Its child runs as another user.
  const folder = mkdtempSync(join(tmpdir(), 'edged-varnish-'))
  chmodSync(folder, 0o755)
  writeFileSync(`${folder}/v.vcl`, `vcl 4.1; backend default { .host = "127.0.0.1"; .port = "${origin}"; }`)
  const port = await freePort()
  const args = ['-F', '-n', folder, '-f', `${folder}/v.vcl`, '-a', `127.0.0.1:${port}`, '-s', 'malloc,256m']
  const child = spawn('varnishd', args, { stdio: 'ignore' })
  await accepting(port)
  return running(child, port, folder)
}

function running(child, port, folder) {
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  return {
    port,
    pid: child.pid,
    async stop() {
      process.off('exit', kill)
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
      if (folder) rmSync(folder, { recursive: true, force: true })
    },
  }
}

const configuration = (origin, cache) => `data: ./data
store: memory
log: { level: info }
proxy: { listen: "127.0.0.1:0", limits: { connections_per_address: 4000 } }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
accounts: [{ id: 023e105f4ecef8ad9ca31a8372d0c353, name: Bench }]
cache: ${JSON.stringify(cache ?? {})}
zones:
  - id: 9f1839b6152d298aca64c4e906b6d074
    account: 023e105f4ecef8ad9ca31a8372d0c353
    name: bench.test
    origin: http://127.0.0.1:${origin}
    cache: ${cache === null ? 'off' : 'everything'}
    settings: { content_converter: on }
`
