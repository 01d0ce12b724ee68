// The kinds of requests whose CPU and allocations are measured, and the bytes that edged allocates for each.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { cpuOf } from './cpu-of.mjs'
import { startEdged, ZONE } from './proxies.mjs'

const AGENT = 'Accept: text/markdown, text/html;q=0.9, */*;q=0.1'
const BROWSER = [
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'Accept-Language: en-US,en;q=0.5',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Connection: keep-alive',
  'Cookie: session=7b2f4f0e9a1d4c55; theme=dark',
  'Upgrade-Insecure-Requests: 1',
  'Sec-Fetch-Dest: document',
  'Sec-Fetch-Mode: navigate',
  'Sec-Fetch-Site: none',
  'Sec-Fetch-User: ?1',
  'Priority: u=0, i',
]

/** By name: host, fields of the request, protocol, and how many requests are counted. */
export const LOADS = {
  'pass-through': { host: 'bench.test', lines: [], requests: 4000 },
  'pass-through, browser': { host: 'bench.test', lines: BROWSER, requests: 4000 },
  'compress, not accepted': { host: 'compress.test', lines: [], requests: 4000 },
  'HTTP/2': { host: 'bench.test', lines: [], requests: 4000, protocol: 'h2' },
  'cache hit': { host: 'cache.test', lines: [], requests: 4000 },
  Markdown: { host: 'bench.test', lines: [AGENT], requests: 800 },
  'Markdown, gzip': { host: 'gzip.test', lines: [AGENT, 'Accept-Encoding: gzip'], requests: 200 },
}

const CONNECTIONS = 32
const WARM_UP = 8000
const ROUNDS = 5
/** Twice as many as the daemon needs on a quiet machine. */
const QUIET_TRIES = 200

const zone = (id, name, origin, more) => `  - id: ${id}
    account: 023e105f4ecef8ad9ca31a8372d0c353
    name: ${name}
    origin: http://127.0.0.1:${origin}
${more}`

/** Configuration of the zones of the loads, after the zone of {@link startEdged}. */
const zones = (origin) =>
  zone(ZONE.replace(/^9/, 'a'), 'compress.test', origin, '    compress: true\n') +
  zone(ZONE.replace(/^9/, 'b'), 'cache.test', origin, '    cache: everything\n') +
  zone(
    ZONE.replace(/^9/, 'c'),
    'gzip.test',
    origin,
    '    settings: { content_converter: on }\n    markdown: { compress: true }\n',
  )

/** Starts the built daemon with a zone for each load, and further sections of its configuration. */
export const startFloor = async (origin, folder, options, sections = '') =>
  await startEdged(origin, folder, zones(origin) + sections, options)

/**
 * The request log keeps some requests of each second, so a slow machine, which needs more seconds, would allocate more for each
 * request.
 */
const WITHOUT_REQUEST_LOG = 'history: { requests: 0 }\n'

/** Starts the origin of the loads. */
export async function startFloorOrigin() {
  const child = fork(new URL('./floor-origin.mjs', import.meta.url))
  const [{ port, bytes }] = await once(child, 'message')
  return { port, bytes, stop: () => child.disconnect() }
}

/** Starts a client that sends exact numbers of requests. */
export async function startClient({ port, tlsPort }, { host, lines, protocol = 'h1' }) {
  const isHttp2 = protocol === 'h2'
  const to = [protocol, String(isHttp2 ? tlsPort : port), host, String(isHttp2 ? CONNECTIONS / 4 : CONNECTIONS)]
  const child = fork(new URL('./exact-child.mjs', import.meta.url), [...to, ...lines])
  await answered(child)
  return {
    async send(requests) {
      child.send({ requests })
      await answered(child)
    },
    stop: () => child.disconnect(),
  }
}

async function answered(child) {
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`a client ended with ${code}`))),
  ])
  return message
}

/** Returns the bytes that edged allocates for a request of each of these loads. */
export async function allocations(folder, names = Object.keys(LOADS), scale = 1) {
  const origin = await startFloorOrigin()
  const args = ['--expose-gc', '--min-semi-space-size=512', '--max-semi-space-size=512']
  args.push('--import', new URL('./heap-probe.mjs', import.meta.url).href)
  const edged = await startFloor(origin.port, folder, { args, ipc: true }, WITHOUT_REQUEST_LOG)
  const bytes = {}
  try {
    // A part of the requests only shows that the measurement works.
    if (scale === 1) await quiet(edged.pid)
    for (const name of names) bytes[name] = await allocatedBy(edged, LOADS[name], scale)
  } finally {
    await edged.stop()
    origin.stop()
  }
  return bytes
}

async function allocatedBy(edged, load, scale) {
  const client = await startClient(edged, load)
  const requests = Math.round(load.requests * scale)
  const read = async (collect) => {
    edged.child.send({ collect })
    return (await once(edged.child, 'message'))[0]
  }
  let least = Infinity
  try {
    await client.send(Math.round((WARM_UP * scale * load.requests) / 4000))
    for (let round = 0; round < ROUNDS; round++) {
      const before = await read(true)
      await client.send(requests)
      const after = await read(false)
      if (after.collections === before.collections) least = Math.min(least, after.allocated - before.allocated)
    }
  } finally {
    client.stop()
  }
  if (least === Infinity) throw new Error('each round had a collection')
  return least / requests
}

/** Resolves when a daemon does nothing more than wait. */
async function quiet(pid) {
  for (let i = 0; i < QUIET_TRIES; i++) {
    const before = cpuOf(pid)
    await wait(500)
    if (cpuOf(pid) - before <= 0.01) return
  }
  throw new Error('the daemon is never quiet')
}
