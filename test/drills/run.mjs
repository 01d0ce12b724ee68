// npm run drills: attacks on the built daemon, each for a few seconds. For each: what a client of another address saw, the
// worst response time of /livez and the peak of the daemon's memory. Exit 1 if one of them is over its limit.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { table } from '../bench/measure.mjs'

const MAX_GET_MS = 1000
const MAX_LIVEZ_MS = 250
const SECONDS = 5
/** For all drills together. */
const MAX_SECONDS = 300
const HOST = 'drill.test'

const request = (line, ...fields) => [`${line} HTTP/1.1`, `Host: ${HOST}`, ...fields, '', ''].join('\r\n')

/** How each attack behaves: what a client sends first, whether it reads, what it sends each second. */
const DRILLS = [
  { attack: 'no load', clients: 0 },
  ...[256, 1000].flatMap((clients) => [
    { attack: 'a request without its body', clients, first: request('POST /', 'Content-Length: 100') },
    { attack: 'one byte of the body', clients, first: `${request('POST /', 'Content-Length: 100')}x` },
    {
      attack: 'a large body, one byte a second',
      clients,
      first: request('POST /', 'Content-Length: 1000000') + 'x'.repeat(66_000),
      eachSecond: 'x',
    },
    { attack: '8 MB that nobody reads', clients, first: request('GET /large'), reads: false },
    {
      attack: 'the same, one byte sent a second',
      clients,
      first: request('GET /large'),
      reads: false,
      eachSecond: 'G',
    },
  ]),
  {
    attack: 'an origin whose name does not resolve',
    clients: 800,
    first: request('GET /').replace(HOST, 'nowhere.test'),
  },
  { attack: '6 MB pages in Markdown', clients: 500, first: request('GET /page', 'Accept: text/markdown'), seconds: 20 },
]

setTimeout(() => {
  console.error(`not finished after ${MAX_SECONDS} s`)
  process.exit(1)
}, MAX_SECONDS * 1000).unref()

const folder = mkdtempSync(join(tmpdir(), 'edged-drills-'))
const child = (...args) => fork(new URL('./child.mjs', import.meta.url), args)
const origin = child('origin')
const probes = { get: child('probe'), livez: child('probe') }
const [originPort] = await once(origin, 'message')
const daemon = await startDaemon()
const results = []
try {
  for (const one of DRILLS) {
    const { attack, clients } = one
    const result = await drill(one)
    results.push({ attack, clients, ...result })
    console.error(`${attack}, ${clients} clients: GET ${result['other GET']}, /livez ${result['/livez']}`)
  }
} finally {
  for (const process of [origin, ...Object.values(probes)]) process.disconnect()
  rmSync(folder, { recursive: true, force: true })
}
table(results.map(({ failed: _failed, ...row }) => row))
console.log(`limits: GET ${MAX_GET_MS} ms with status 200, /livez ${MAX_LIVEZ_MS} ms`)
process.exit(results.some(({ failed }) => failed) ? 1 : 0)

async function drill({ clients, first, reads = true, eachSecond, seconds = SECONDS }) {
  // Forgets the peak that the kernel has noted.
  writeFileSync(`/proc/${daemon.child.pid}/clear_refs`, '5')
  const sockets = Array.from({ length: clients }, () => attacker(first, reads))
  const timer = setInterval(() => {
    if (eachSecond) for (const socket of sockets) socket.write(eachSecond)
  }, 1000)
  const until = performance.now() + seconds * 1000
  const gets = repeat(probes.get, { url: daemon.proxy, host: HOST, localAddress: '127.0.0.2' }, until)
  const livez = repeat(probes.livez, { url: `${daemon.admin}/livez`, host: 'x', localAddress: '127.0.0.1' }, until)
  const [get, live] = await Promise.all([gets, livez])
  clearInterval(timer)
  for (const socket of sockets) socket.destroy()
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.child.pid}/status`, 'utf8'))[1]) / 1024
  // Until the daemon has noticed that they left.
  await wait(500)
  const failed = get.bad !== undefined || live.bad !== undefined || get.worst > MAX_GET_MS || live.worst > MAX_LIVEZ_MS
  return { 'other GET': shown(get), '/livez': shown(live), 'peak MB': Math.round(peak), failed }
}

function shown({ bad, worst }) {
  return `${bad === undefined ? '' : `${bad}, `}${Math.round(worst)} ms`
}

function attacker(first, reads) {
  const socket = connect(Number(new URL(daemon.proxy).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(first)
  if (reads) socket.resume()
  return socket
}

/** The worst of the probes until a time, and the status of one that failed. */
async function repeat(probe, what, until) {
  let worst = 0
  let bad
  do {
    probe.send(what)
    const [{ status, ms }] = await once(probe, 'message')
    worst = Math.max(worst, ms)
    if (status !== 200) bad = status
    await wait(20)
  } while (performance.now() < until)
  return { worst, bad }
}

async function startDaemon() {
  const account = '023e105f4ecef8ad9ca31a8372d0c353'
  writeFileSync(
    `${folder}/edged.yaml`,
    `data: ./data
store: memory
log: { level: info }
proxy: { listen: "127.0.0.1:0", limits: { connections_per_address: 2000 } }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
accounts: [{ id: ${account}, name: Drills }]
zones:
  - { id: ${'a'.repeat(32)}, account: ${account}, name: ${HOST}, origin: "http://localhost:${originPort}", settings: { content_converter: on } }
  - { id: ${'b'.repeat(32)}, account: ${account}, name: nowhere.test, origin: "http://nowhere.invalid:1" }
`,
  )
  const cli = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
  const started = spawn(process.execPath, [cli, 'serve', '-c', `${folder}/edged.yaml`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.on('exit', () => started.kill('SIGKILL'))
  const { proxy, admin } = await new Promise((resolve, reject) => {
    started.on('exit', () => reject(new Error('the daemon did not start')))
    let text = ''
    started.stdout.on('data', (chunk) => {
      text += chunk
      const ready = text.split('\n').find((line) => line.includes('"event":"ready"') && line.endsWith('}'))
      // What follows is read and dropped.
      if (text.length > 65_536) text = ''
      if (ready) resolve(JSON.parse(ready))
    })
  })
  return { child: started, proxy: proxy.replace(/\/$/, ''), admin: admin.replace(/\/$/, '') }
}
