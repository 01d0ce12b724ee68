// What a request costs by kind: user and system time of all threads and processes of a proxy, and the bytes that edged
// allocates. Beside it nginx, and a pass-through of bytes in Node.js, which is the least that is possible there. Proxies
// take turns, and each ratio is the median of the ratios of single turns, since a busy machine slows both.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cpuPartsOf } from './cpu-of.mjs'
import { allocations, LOADS, startFloor, startFloorOrigin } from './floor-loads.mjs'
import { load, LOADER } from './load.mjs'
import { median, sized, SHORT, table } from './measure.mjs'
import { installed } from './ports.mjs'
import { h2load } from './protocols.mjs'
import { PROXIES } from './proxies.mjs'

const ROUNDS = Number(process.argv[2] ?? sized(5, 1))
const SECONDS = sized(2, 0.3)
const WARM_UP_ROUNDS = sized(2, 0)
const CONNECTIONS = 32
/** Kinds of requests that nginx and the pass-through have too. */
const COMPARED = ['pass-through', 'HTTP/2']

async function send({ port, tlsPort }, { host, lines, protocol }) {
  if (protocol === 'h2') return (await h2load(tlsPort, folder, ['-c8', '-m4'])).count
  return (await load(port, { connections: CONNECTIONS, seconds: SECONDS, headers: lines, host })).requests
}

async function measure(proxy, kind) {
  const before = cpuPartsOf(proxy.pid)
  const count = await send(proxy, kind)
  const after = cpuPartsOf(proxy.pid)
  const [user, system] = ['user', 'system'].map((part) => ((after[part] - before[part]) * 1e6) / count)
  return { user, system, both: user + system }
}

async function startNet(origin) {
  const child = fork(new URL('./net-child.mjs', import.meta.url), [String(origin)])
  const [{ port }] = await once(child, 'message')
  return { port, pid: child.pid, stop: () => child.disconnect() }
}

const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const origin = await startFloorOrigin()
const running = {}
try {
  running.nginx = await PROXIES.nginx(origin.port, folder)
  running['node:net'] = await startNet(origin.port)
  running.edged = await startFloor(origin.port, folder)
  const samples = []
  for (const [kind, request] of Object.entries(LOADS)) {
    if (request.protocol === 'h2' && (SHORT || !installed('h2load'))) continue
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++)
      for (const [name, proxy] of Object.entries(running)) {
        if (name !== 'edged' && !COMPARED.includes(kind)) continue
        if (!proxy || (request.protocol === 'h2' && !proxy.tlsPort)) continue
        const sample = await measure(proxy, request)
        if (round >= 0) samples.push({ kind, name, round, ...sample })
      }
  }
  for (const [name, proxy] of Object.entries(running)) {
    delete running[name]
    await proxy?.stop()
  }
  const bytes = await allocations(folder, Object.keys(LOADS), sized(1, 0.1))
  const of = (kind, name) => samples.filter((sample) => sample.kind === kind && sample.name === name)
  const rows = Object.keys(LOADS).flatMap((kind) =>
    ['nginx', 'node:net', 'edged'].map((name) => ({ kind, name, own: of(kind, name) })),
  )
  console.log(
    `\n${origin.bytes} byte page, ${CONNECTIONS} connections of ${LOADER}, ${ROUNDS} rounds of ${SECONDS} s\n`,
  )
  table(
    rows
      .filter(({ name, own }) => own.length > 0 || name === 'edged')
      .map(({ kind, name, own }) => {
        const peers = of(kind === 'HTTP/2' ? kind : 'pass-through', 'nginx')
        const part = (key) => (own.length > 0 ? median(own.map((sample) => sample[key])).toFixed(1) : '-')
        return {
          request: kind,
          proxy: name,
          'user us': part('user'),
          'system us': part('system'),
          'both us': part('both'),
          // Rounds of kinds that nginx does not have are compared with its rounds of the pass-through.
          'of nginx':
            own.length > 0 && peers.length > 0
              ? median(own.map(({ both, round }) => both / peers[round].both)).toFixed(2)
              : '-',
          'bytes allocated': name === 'edged' ? Math.round(bytes[kind]) : '-',
        }
      }),
  )
} finally {
  for (const proxy of Object.values(running)) await proxy?.stop()
  origin.stop()
  rmSync(folder, { recursive: true, force: true })
}
