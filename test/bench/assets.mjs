// CPU per request of whoever serves a static file of 10 KB (user and system, children included), interleaved rounds.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cpuOf } from './cpu-of.mjs'
import { load, LOADER } from './load.mjs'
import { digits, median, sized, table } from './measure.mjs'
import { accepting, freePort, installed } from './ports.mjs'

const ROUNDS = Number(process.argv[2] ?? sized(5, 1))
const SECONDS = sized(2, 0.2)
const CONNECTIONS = 32
const PAGE = `<!doctype html><title>Bench</title>${'<p>Some text of the page.</p>'.repeat(360)}`

const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const servers = []
try {
  const edged = fork(new URL('./assets-child.mjs', import.meta.url), [Buffer.from(PAGE).toString('base64')])
  servers.push({ name: 'edged', child: edged, samples: [], port: (await once(edged, 'message'))[0].port })
  if (installed('nginx')) servers.push(await nginx())
  else console.log('nginx: not installed')
  for (const { port } of servers) await load(port, { connections: CONNECTIONS, seconds: SECONDS / 2, headers: [] })
  for (let round = 0; round < ROUNDS; round++)
    for (const { child, port, samples } of servers) {
      const before = cpuOf(child.pid)
      const sample = await load(port, { connections: CONNECTIONS, seconds: SECONDS, headers: [] })
      samples.push({ ...sample, microseconds: ((cpuOf(child.pid) - before) * 1e6) / sample.requests })
    }
  console.log(
    `\n${PAGE.length} bytes, ${CONNECTIONS} connections of ${LOADER}, ${ROUNDS} rounds of ${SECONDS} s, medians\n`,
  )
  const of = (samples, key) => median(samples.map((sample) => sample[key]))
  table(
    servers.map(({ name, samples }) => ({
      server: name,
      'CPU us per request': of(samples, 'microseconds').toFixed(1),
      'requests/s': Math.round(of(samples, 'requests') / SECONDS),
      'p50 ms': digits(of(samples, 'p50'), 2),
      'p99 ms': digits(of(samples, 'p99'), 2),
    })),
  )
} finally {
  for (const { child } of servers) {
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
  }
  rmSync(folder, { recursive: true, force: true })
}

async function nginx() {
  const port = await freePort()
  writeFileSync(join(folder, 'index.html'), PAGE)
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
    events { worker_connections 1024; }
    http { access_log off; sendfile on; open_file_cache max=100; client_body_temp_path ${folder};
      proxy_temp_path ${folder}; fastcgi_temp_path ${folder}; uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
      types { text/html html; }
      server { listen 127.0.0.1:${port}; keepalive_requests 10000000; root ${folder}; } }`,
  )
  const child = spawn('nginx', ['-c', `${folder}/nginx.conf`], { stdio: 'ignore' })
  await accepting(port)
  return { name: 'nginx, one worker', child, samples: [], port }
}
