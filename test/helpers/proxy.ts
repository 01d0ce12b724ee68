import { createServer, type RequestListener, type Server } from 'node:http'
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { readConfig } from '../../src/config/load.js'
import type { ProxyConfig } from '../../src/config/schema.js'
import { systemClock, type Clock } from '../../src/core/clock.js'
import type { Emitter } from '../../src/core/emit.js'
import { silentLog, type Log } from '../../src/core/log.js'
import { openMetrics, type Metrics } from '../../src/core/metrics/metrics.js'
import type { ResponseCache } from '../../src/edge/cache/cache.js'
import type { AgentIdentity } from '../../src/agents/identity.js'
import type { PageIndex } from '../../src/edge/agents/mcp/page-index.js'
import type { SpentSignatures } from '../../src/edge/agents/spent-signatures.js'
import type { FindCustomPage } from '../../src/edge/exchange/custom-pages.js'
import type { Stage } from '../../src/edge/exchange/response.js'
import type { AccessLog } from '../../src/edge/records/access-log.js'
import type { Challenges } from '../../src/edge/challenge/challenges.js'
import type { Geo } from '../../src/edge/exchange/geo.js'
import type { ConnectorDeps } from '../../src/http/connector.js'
import { systemResolve } from '../../src/egress/fair-resolve.js'
import type { Proxy } from '../../src/edge/serve/proxy-parts.js'
import { listenProxy } from '../../src/edge/serve/server.js'
import type { WorkerSites } from '../../src/edge/exchange/worker-sites.js'
import { zoneOf, zoneTable, type Zone, type Zones } from '../../src/edge/exchange/zones.js'

/** Parts of tap that the helpers use. */
export interface Teardown {
  teardown(end: () => unknown): void
}

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'

/** Parses a configuration whose `proxy` has the members `yaml`, as a file would be. */
export function proxyConfig(yaml = '{}'): ProxyConfig {
  return readConfig(`proxy: ${yaml.replaceAll('\n', ' ')}`, 'test.yaml', {}).proxy
}

/** Resolves names as the system does, and allows every target. */
export const openDial: ConnectorDeps = {
  resolve: systemResolve,
  guard: { rules: {}, allows: () => true, resolve: systemResolve },
}

/** Returns a zone as the configuration creates it, with one origin or several. `members` are further members. */
export function testZone(origin: string | readonly object[], members = ''): Zone {
  const origins = typeof origin === 'string' ? `origin: '${origin}'` : `origins: ${JSON.stringify(origin)}`
  const config = readConfig(
    `accounts: [{ id: ${ACCOUNT}, name: Test }]
zones: [{ id: ${ZONE}, account: ${ACCOUNT}, name: example.test, ${origins}${members && `, ${members}`} }]`,
    'test.yaml',
    {},
  )
  return zoneOf(config.zones[0]!)
}

/** Starts an HTTP origin on a free port. Returns its URL and the server. */
export async function startOrigin(t: Teardown, listener: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer({ requireHostHeader: false }, listener)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

/** Starts an origin that sends raw bytes, for responses that no HTTP server would send. */
export async function startRawOrigin(t: Teardown, connected: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    connected(socket)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export interface TestProxy extends Proxy {
  readonly zones: Zones
  readonly metrics: Metrics
  readonly url: string
}

/** Starts a proxy in front of an origin (a URL, or zones), on a free port. */
export async function startProxy(
  t: Teardown,
  origin: string | readonly Zone[],
  {
    yaml = '{}',
    stages = [],
    log = silentLog,
    challenges,
    emitter,
    geo,
    workers,
    cache,
    accessLog,
    dial = openDial,
    clock = systemClock,
    customPages,
    agents,
    spent,
    pages,
  }: {
    yaml?: string
    stages?: readonly Stage[]
    log?: Log
    challenges?: Challenges
    emitter?: Emitter
    geo?: Geo
    workers?: WorkerSites
    cache?: ResponseCache
    accessLog?: AccessLog
    dial?: ConnectorDeps
    clock?: Clock
    customPages?: FindCustomPage
    agents?: AgentIdentity
    spent?: SpentSignatures
    pages?: PageIndex
  } = {},
): Promise<TestProxy> {
  const zones: Zones = { current: zoneTable(typeof origin === 'string' ? [testZone(origin)] : origin) }
  const metrics = openMetrics({ process: false })
  const config = { ...proxyConfig(yaml), listen: '127.0.0.1:0' }
  const proxy = await listenProxy(config, {
    zones,
    stages,
    dial,
    clock,
    log,
    metrics,
    ...(challenges && { challenges }),
    ...(emitter && { emitter }),
    ...(geo && { geo }),
    ...(workers && { workers }),
    ...(cache && { cache }),
    ...(accessLog && { accessLog }),
    ...(customPages && { customPages }),
    ...(agents && { agents }),
    ...(spent && { spent }),
    ...(pages && { pages }),
  })
  t.teardown(async () => {
    await proxy.reconfigure({ ...config, drain_timeout: 1 })
    await proxy.close()
  })
  return Object.assign(proxy, { zones, metrics, url: `http://127.0.0.1:${proxy.port}` })
}

/** The data received on a connection, as latin1 text. */
export interface RawResponse {
  readonly text: string
  /** Status of the first response; 0 without one. */
  readonly status: number
  /** Whether the other side ended or reset the connection; false if the time limit was reached first. */
  readonly closed: boolean
}

/** Sends bytes and reads until the other side closes or `patience` milliseconds of silence have passed. */
export async function sendRaw(
  port: number,
  bytes: string | Buffer | readonly (string | Buffer)[],
  { patience = 30_000 }: { patience?: number } = {},
): Promise<RawResponse> {
  const parts = Array.isArray(bytes) ? (bytes as readonly (string | Buffer)[]) : [bytes as string | Buffer]
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  let text = ''
  return await new Promise((resolve) => {
    const done = (closed: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ text, status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), closed })
    }
    let timer = setTimeout(() => done(false), patience)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      clearTimeout(timer)
      timer = setTimeout(() => done(false), patience)
    })
    socket.on('end', () => done(true))
    socket.on('error', () => done(true))
    const send = (index: number): void => {
      const part = parts[index]
      if (part === undefined || socket.destroyed) return
      socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part, () => setImmediate(send, index + 1))
    }
    send(0)
  })
}

/** Returns the value of a metric without labels, or with these labels. */
export async function metric(metrics: Metrics, name: string, labels: Record<string, string> = {}): Promise<number> {
  const found = await metrics.getSingleMetric(name)?.get()
  const wanted = JSON.stringify(labels)
  return found?.values.find((value) => JSON.stringify(value.labels) === wanted)?.value ?? Number.NaN
}
