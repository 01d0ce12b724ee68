// CPU per hit of the cache beside nginx proxy_cache and Varnish: the process with its children, interleaved rounds. Then
// Markdown hits beside conversions, concurrent misses, and the hit ratio beside LRU. npm run bench -- cache [ROUNDS]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hitRatios } from './cache-hit-ratio.mjs'
import { edged, nginx, varnish } from './cache-servers.mjs'
import { cpuOf } from './cpu-of.mjs'
import { load } from './load.mjs'
import { median, sized, table } from './measure.mjs'
import { page } from './origin.mjs'

const ROUNDS = Number(process.argv[2] ?? sized(3, 1))
const SECONDS = sized(2, 0.2)
const CONNECTIONS = 32
const CLIENTS = sized(1000, 50)
const MARKDOWN = 'Accept: text/markdown'
/** nginx reads its files through the page cache of the kernel, Varnish has no files here. */
const MEMORY = { memory: '256MB' }
/** So little memory that every object is sent from its file. */
const DISK = { memory: '8KB', disk: { folder: './cache', bytes: '1GB' } }

const ROWS = [
  { what: '10 KB from memory', path: '/bytes/10000', servers: { edged: edged(MEMORY), nginx, varnish } },
  { what: '1 MB from memory', path: '/bytes/1000000', servers: { edged: edged(MEMORY), nginx, varnish } },
  { what: '10 KB from disk', path: '/bytes/10000', servers: { edged: edged(DISK), nginx } },
  { what: '1 MB from disk', path: '/bytes/1000000', servers: { edged: edged(DISK), nginx } },
]

const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
writeFileSync(`${folder}/page.html`, page())
const origin = fork(new URL('./cache-origin-child.mjs', import.meta.url), [`${folder}/page.html`])
const [{ port: originPort }] = await once(origin, 'message')
try {
  for (const { what, path, servers } of ROWS) await compare(what, path, servers)
  await markdown()
  await coalescing()
  const ratios = hitRatios()
  console.log('\nhit ratio, Zipf 0.9 over 20,000 keys with scans, memory for about 2,000')
  table([Object.fromEntries(Object.entries(ratios).map(([name, ratio]) => [name, ratio.toFixed(3)]))])
} finally {
  origin.disconnect()
  rmSync(folder, { recursive: true, force: true })
}

async function compare(what, path, servers) {
  const running = await start(servers)
  try {
    // Stored by the second request: Varnish and the disk tier need a moment.
    for (const { server } of running) for (let i = 0; i < 3; i++) await get(server.port, path)
    const medians = await rounds(running, { path, headers: [] })
    const theirs = medians.find(({ name }) => name === 'nginx')?.microseconds
    console.log(`\n${what}`)
    table(
      medians.map(({ name, microseconds, perSecond }) => ({
        cache: name,
        'CPU us per hit': microseconds.toFixed(1),
        'of nginx': theirs === undefined ? '-' : (microseconds / theirs).toFixed(2),
        'hits/s': Math.round(perSecond),
      })),
    )
  } finally {
    for (const { server } of running) await server.stop()
  }
}

async function markdown() {
  const running = await start({ hit: edged(MEMORY), conversion: edged(null) })
  try {
    const [hit, conversion] = await rounds(running, { path: '/page', headers: [MARKDOWN] })
    console.log('\nMarkdown of a page of 10 KB, CPU us per request')
    table([
      {
        hit: hit.microseconds.toFixed(1),
        'fetch and conversion': conversion.microseconds.toFixed(1),
        'conversion costs': `${(conversion.microseconds / hit.microseconds).toFixed(1)} hits`,
      },
    ])
  } finally {
    for (const { server } of running) await server.stop()
  }
}

async function coalescing() {
  const running = await start({ edged: edged(MEMORY), nginx, varnish })
  const rows = []
  try {
    for (const { name, server } of running) {
      const before = await originRequests()
      const cpu = cpuOf(server.pid)
      const began = performance.now()
      const statuses = await Promise.all(Array.from({ length: CLIENTS }, () => get(server.port, `/slow/${name}`)))
      rows.push({
        cache: name,
        'origin requests': (await originRequests()) - before,
        'CPU ms': Math.round((cpuOf(server.pid) - cpu) * 1000),
        'ms until the last response': Math.round(performance.now() - began),
        failed: statuses.filter((status) => status !== 200).length,
      })
    }
  } finally {
    for (const { server } of running) await server.stop()
  }
  console.log(`\n${CLIENTS} clients ask for one resource that takes the origin 500 ms`)
  table(rows)
}

async function start(servers) {
  const running = []
  for (const [name, open] of Object.entries(servers)) {
    const server = await open(originPort, folder)
    if (server) running.push({ name, server, samples: [] })
    else console.log(`${name}: not installed`)
  }
  return running
}

/** Medians of all servers: each round measures one after the other. The first round warms up. */
async function rounds(running, { path, headers }) {
  for (let round = 0; round <= ROUNDS; round++)
    for (const { server, samples } of running) {
      const before = cpuOf(server.pid)
      const { requests } = await load(server.port, { connections: CONNECTIONS, seconds: SECONDS, headers, path })
      if (round > 0) samples.push({ requests, microseconds: ((cpuOf(server.pid) - before) * 1e6) / requests })
    }
  return running.map(({ name, samples }) => ({
    name,
    microseconds: median(samples.map(({ microseconds }) => microseconds)),
    perSecond: median(samples.map(({ requests }) => requests)) / SECONDS,
  }))
}

async function get(port, path) {
  return await new Promise((resolve) => {
    const asked = request(
      { host: '127.0.0.1', port, path, agent: false, headers: { host: 'bench.test' } },
      (response) => {
        response.resume().on('end', () => resolve(response.statusCode))
      },
    )
    asked.on('error', () => resolve(0)).end()
  })
}

async function originRequests() {
  origin.send('count')
  const [{ requests }] = await once(origin, 'message')
  return requests
}
