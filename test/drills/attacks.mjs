// Slow and stalled clients, each attack for a few seconds. For each: what a client of another address saw, the worst
// response time of /livez and the peak of the daemon's memory. Then requests whose records cost much more than their bytes,
// logs of the store that are damaged while the daemon is down, spellings of Host before a cache, renegotiation and used-up
// descriptors.
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { table } from '../bench/measure.mjs'
import { damagedLogs } from './damaged-logs.mjs'
import { hostSpellings } from './host-spellings.mjs'
import { ingestBombs } from './ingest-bombs.mjs'
import { ACCOUNT, drillFolder, HOST, startDaemon } from './daemon.mjs'
import { child, repeat, shown } from './probes.mjs'
import { usedUp } from './used-up.mjs'

const MAX_GET_MS = 1000
const MAX_LIVEZ_MS = 250
const SECONDS = 5
const TLS_SECONDS = 4
const COUNTS = [256, 1000]

const request = (line, ...fields) => [`${line} HTTP/1.1`, `Host: ${HOST}`, ...fields, '', ''].join('\r\n')

const NO_BODY = { attack: 'a request without its body', first: request('POST /', 'Content-Length: 100') }
const SLOW_BODY = {
  attack: 'a large body, one byte a second',
  first: request('POST /', 'Content-Length: 1000000') + 'x'.repeat(66_000),
  eachSecond: 'x',
}
const UNREAD = { attack: '8 MB that nobody reads', first: request('GET /large'), reads: false }

/** The same over HTTP/2: fields of the request, and the beginning of its body. */
const H2_POST = { ':method': 'POST', ':path': '/' }
const OVER_HTTP2 = [
  { attack: NO_BODY.attack, head: H2_POST },
  { attack: SLOW_BODY.attack, head: H2_POST, body: 'x'.repeat(66_000), eachSecond: 'x' },
  { attack: UNREAD.attack, head: { ':path': '/large' }, reads: false },
]

/** How each attack behaves: what a client sends first, whether it reads, what it sends each second. */
const ATTACKS = [
  { over: 'HTTP', attack: 'no load', clients: 0 },
  ...COUNTS.flatMap((clients) =>
    [
      NO_BODY,
      { attack: 'one byte of the body', first: `${request('POST /', 'Content-Length: 100')}x` },
      SLOW_BODY,
      UNREAD,
      { ...UNREAD, attack: 'the same, one byte sent a second', eachSecond: 'G' },
    ].map((attack) => ({ over: 'HTTP', clients, ...attack })),
  ),
  {
    ...UNREAD,
    over: 'HTTP',
    attack: '8 MB that nobody reads, of 8 addresses',
    clients: 400,
    addresses: 8,
    seconds: 15,
    maxGetMs: 2000,
  },
  {
    over: 'HTTP',
    attack: 'an origin whose name does not resolve',
    clients: 800,
    first: request('GET /').replace(HOST, 'nowhere.test'),
  },
  {
    over: 'HTTP',
    attack: '6 MB pages in Markdown',
    clients: 500,
    first: request('GET /page', 'Accept: text/markdown'),
    seconds: 20,
  },
  ...COUNTS.flatMap((clients) => [
    ...[NO_BODY, SLOW_BODY, UNREAD].map((attack) => ({ over: 'HTTPS', clients, seconds: TLS_SECONDS, ...attack })),
    ...OVER_HTTP2.map((attack) => ({ over: 'HTTP/2', clients, seconds: TLS_SECONDS, ...attack })),
  ]),
]

/** Opens one connection of an attack. Returns how to send more on it and how to end it. */
const OPEN = {
  HTTP(daemon, attack, number) {
    const localAddress = `127.0.0.${attack.addresses ? 10 + (number % attack.addresses) : 1}`
    return attacker(connect({ port: portOf(daemon.proxy), host: '127.0.0.1', localAddress }), attack)
  },
  HTTPS: (daemon, attack) =>
    attacker(
      connectTls({ port: portOf(daemon.proxyTls), host: '127.0.0.1', servername: HOST, rejectUnauthorized: false }),
      attack,
    ),
  'HTTP/2'(daemon, { head, body, reads = true }) {
    const session = connectHttp2(daemon.proxyTls, { servername: HOST, rejectUnauthorized: false })
    session.on('error', () => undefined)
    const stream = session.request({ ':authority': HOST, ...head }, { endStream: head[':method'] !== 'POST' })
    stream.on('error', () => undefined)
    if (body) stream.write(body)
    if (reads) stream.resume()
    return { write: (text) => stream.writable && stream.write(text), end: () => session.destroy() }
  },
}

function attacker(socket, { first, reads = true }) {
  socket.on('error', () => undefined)
  socket.write(first)
  if (reads) socket.resume()
  return { write: (text) => socket.write(text), end: () => socket.destroy() }
}

const titleOf = ({ over, attack, clients }) => `${over}, ${attack}, ${clients} clients`
const portOf = (url) => Number(new URL(url).port)

/** Runs all attacks, or those whose title contains a text, and prints a table. Returns what passed its limit. */
export async function drill(_number, text) {
  const only = text('only') ?? ''
  const folder = drillFolder()
  const origin = child('origin')
  const probes = { get: child('probe'), livez: child('probe') }
  const [originPort] = await once(origin, 'message')
  const nowhere = `{ id: ${'b'.repeat(32)}, account: ${ACCOUNT}, name: nowhere.test, origin: "http://nowhere.invalid:1" }`
  const daemon = await startDaemon(folder, `http://localhost:${originPort}`, { zones: `  - ${nowhere}` })
  const results = []
  try {
    for (const one of ATTACKS) {
      const { over, attack, clients } = one
      if (!titleOf(one).includes(only)) continue
      const result = await measure(daemon, probes, one)
      results.push({ over, attack, clients, ...result })
      console.error(`${titleOf(one)}: GET ${result['other GET']}, /livez ${result['/livez']}`)
    }
  } finally {
    for (const process of [origin, ...Object.values(probes)]) process.disconnect()
  }
  if (results.length > 0) table(results.map(({ failed: _failed, ...row }) => row))
  console.log(`limits: GET ${MAX_GET_MS} ms with status 200, /livez ${MAX_LIVEZ_MS} ms`)
  const bombs = await ingestBombs(only)
  if (bombs.rows.length > 0) table(bombs.rows)
  const logs = await damagedLogs(only)
  if (logs.rows.length > 0) table(logs.rows)
  const hosts = await hostSpellings(only)
  if (hosts.rows.length > 0) table(hosts.rows)
  const resources = await usedUp(only)
  if (resources.rows.length > 0) table(resources.rows)
  return [
    ...results.filter(({ failed }) => failed).map(titleOf),
    ...bombs.failures,
    ...logs.failures,
    ...hosts.failures,
    ...resources.failures,
  ]
}

async function measure(daemon, probes, attack) {
  const { over, clients, eachSecond, seconds = SECONDS, maxGetMs = MAX_GET_MS } = attack
  // Forgets the peak that the kernel has noted.
  writeFileSync(`/proc/${daemon.child.pid}/clear_refs`, '5')
  const attackers = Array.from({ length: clients }, (_, number) => OPEN[over](daemon, attack, number))
  const timer = setInterval(() => {
    if (eachSecond) for (const one of attackers) one.write(eachSecond)
  }, 1000)
  const until = performance.now() + seconds * 1000
  const gets = repeat(probes.get, { url: daemon.proxy, host: HOST, localAddress: '127.0.0.2' }, until)
  const livez = repeat(probes.livez, { url: `${daemon.admin}/livez`, host: 'x', localAddress: '127.0.0.1' }, until)
  const [get, live] = await Promise.all([gets, livez])
  clearInterval(timer)
  for (const one of attackers) one.end()
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.child.pid}/status`, 'utf8'))[1]) / 1024
  // Until the daemon has noticed that they left.
  await wait(500)
  const failed = get.bad !== undefined || live.bad !== undefined || get.worst > maxGetMs || live.worst > MAX_LIVEZ_MS
  return { 'other GET': shown(get), '/livez': shown(live), 'peak MB': Math.round(peak), failed }
}
