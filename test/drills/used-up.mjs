// Clients that renegotiate, and idle connections on a daemon that can open few files. For each: what a client of another
// address and another account saw.
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { drillFolder, HOST, startDaemon, TOKEN } from './daemon.mjs'
import { child, repeat, shown } from './probes.mjs'

const MAX_MS = 1000
const SECONDS = 5
const ATTEMPTS = 1000
const CLIENTS = 8
const DESCRIPTORS = 256
const IDLE_PER_ADDRESS = 300
const OTHER_ACCOUNT = 'd'.repeat(32)

const ATTACKS = {
  [`${CLIENTS} TLS 1.2 clients that renegotiate`]: { flood: renegotiate, prefix: [] },
  [`${2 * IDLE_PER_ADDRESS} idle connections, ${DESCRIPTORS} descriptors`]: {
    flood: stayIdle,
    prefix: ['sh', '-c', `ulimit -n ${DESCRIPTORS}; exec "$@"`, 'sh'],
  },
}

/** Runs the attacks whose title contains a text. Returns their rows, and the titles of those that passed a limit. */
export async function usedUp(only) {
  const rows = []
  const failures = []
  for (const [title, attack] of Object.entries(ATTACKS)) {
    if (!title.includes(only)) continue
    const { failed, ...row } = await measure(attack)
    rows.push({ attack: title, ...row })
    console.error(`${title}: ${JSON.stringify(row)}`)
    if (failed) failures.push(title)
  }
  return { rows, failures }
}

async function measure({ flood, prefix }) {
  const origin = child('origin')
  const [port] = await once(origin, 'message')
  const probes = { 'other GET': child('probe'), '/livez': child('probe'), 'other account': child('probe') }
  const accounts = `, { id: ${OTHER_ACCOUNT}, name: Other }`
  const daemon = await startDaemon(drillFolder(), `http://127.0.0.1:${port}`, { accounts, prefix })
  try {
    const stop = new AbortController()
    const attack = flood(daemon, stop.signal)
    // The connections of the attack are there before the others ask.
    await wait(1000)
    const until = performance.now() + SECONDS * 1000
    const about = {
      'other GET': { url: daemon.proxy, host: HOST, localAddress: '127.0.0.3' },
      '/livez': { url: `${daemon.admin}/livez`, host: 'x', localAddress: '127.0.0.1' },
      'other account': {
        url: `${daemon.control}/accounts/${OTHER_ACCOUNT}/rules/lists`,
        host: '127.0.0.1',
        localAddress: '127.0.0.3',
        headers: { authorization: `Bearer ${TOKEN}` },
      },
    }
    const seen = await Promise.all(
      Object.entries(probes).map(async ([name, probe]) => [name, await repeat(probe, about[name], until)]),
    )
    stop.abort()
    const { got, isHarmful } = await attack
    const warnings = daemon.lines.filter(({ event }) => event.startsWith('descriptors_')).map(({ event }) => event)
    const failed = isHarmful || seen.some(([, { bad, worst }]) => bad !== undefined || worst > MAX_MS)
    const log = [...new Set(warnings)].join(', ')
    return { ...Object.fromEntries(seen.map(([name, result]) => [name, shown(result)])), got, log, failed }
  } finally {
    daemon.child.kill('SIGKILL')
    for (const process of [origin, ...Object.values(probes)]) process.disconnect()
  }
}

/** Clients that connect again whenever their connection ends. */
async function renegotiate({ proxyTls }, stop) {
  const { port } = new URL(proxyTls)
  let done = 0
  let ended = 0
  const one = async () => {
    while (!stop.aborted) {
      const socket = connectTls({
        port,
        host: '127.0.0.1',
        servername: HOST,
        rejectUnauthorized: false,
        maxVersion: 'TLSv1.2',
      })
      const closed = new Promise((resolve) => {
        for (const event of ['error', 'close']) socket.on(event, () => resolve(false))
      })
      const connected = new Promise((resolve) => socket.once('secureConnect', () => resolve(true)))
      const attempts = (await Promise.race([connected, closed])) ? ATTEMPTS : 0
      socket.resume()
      for (let n = 0; n < attempts && !stop.aborted; n++) {
        const asked = new Promise((resolve) =>
          socket.renegotiate({ rejectUnauthorized: false }, (error) => resolve(!error)),
        )
        if (!(await Promise.race([asked, closed]))) break
        done++
      }
      ended++
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, one))
  return { got: `${done} renegotiations on ${ended} connections`, isHarmful: done > 0 || ended === 0 }
}

/** Clients of two addresses that connect and send nothing. */
async function stayIdle({ proxy }, stop) {
  const { hostname: host, port } = new URL(proxy)
  const sockets = ['127.0.0.1', '127.0.0.2'].flatMap((localAddress) =>
    Array.from({ length: IDLE_PER_ADDRESS }, () =>
      connect({ host, port: Number(port), localAddress }).on('error', () => undefined),
    ),
  )
  if (!stop.aborted) await once(stop, 'abort')
  const open = sockets.filter(({ readyState }) => readyState === 'open').length
  for (const socket of sockets) socket.destroy()
  return { got: `${open} of ${sockets.length} connections stay open`, isHarmful: open >= DESCRIPTORS }
}
