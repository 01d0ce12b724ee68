import { readFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { open, rm, stat, statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import type { Redis } from 'ioredis'
import type { Config } from '../../config/schema.js'
import { natsServer } from '../../../pipelines/logpush/spool/nats/library.js'
import { natsTarget } from '../../../pipelines/logpush/spool/nats/target.js'
import { messageOf } from '../../core/errors.js'
import { makeFolder } from '../../disk/durable-write.js'
import { bind, hostAndPort, socketPath } from '../../http/listen.js'
import { HTTP2_VERSIONS } from '../../edge/client/http2-support.js'
import { PACKAGE_ROOT, WORKERD_VERSION } from '../../release/package.js'
import { connectRedis, redisConnection, riskySettings } from '../../store/redis/connection.js'
import { missingInFile } from '../../daemon/certificates/certificates.js'
import { missingText } from '../../tls/acme/served-names.js'
import type { DaemonStatus } from '../../daemon/state/status.js'
import { findWorkerd, howToInstall } from '../../workers/runtime/binary.js'
import { askDaemon, otherDaemon } from '../common/admin-client.js'
import { reachMachines } from './machines.js'
import { secretsLines } from '../common/secrets-lines.js'

/** One line of the doctor. `warn`: works, with a limit that the message names. */
export interface Finding {
  readonly check: string
  readonly level: 'ok' | 'warn' | 'FAIL'
  readonly message: string
}

type Result = Omit<Finding, 'check'>
type Check = (config: Config) => Result[] | Promise<Result[]>

const ok = (message: string): Result => ({ level: 'ok', message })
const warn = (message: string): Result => ({ level: 'warn', message })
const fail = (message: string): Result => ({ level: 'FAIL', message })

/** Every check, by the name that is shown, in order. */
export const CHECKS: Readonly<Record<string, Check>> = {
  runtime,
  workers,
  descriptors,
  clock,
  disk,
  redis,
  nats,
  secrets,
  machines,
  certificates,
  ports,
}

const MIN_NODE = [20, 20] as const

function runtime(): Result[] {
  const { node, nghttp2 = '0' } = process.versions
  if (isBelow(node, MIN_NODE)) return [fail(`Node ${node} is too old; install Node ${MIN_NODE.join('.')} or newer`)]
  if (isBelow(nghttp2, [1, 68, 1]))
    return [
      warn(`Node ${node} has nghttp2 ${nghttp2}, so http2: auto is off; use Node.js ${HTTP2_VERSIONS} for HTTP/2`),
    ]
  return [ok(`Node ${node}`)]
}

/** Compares versions by number, not by text. */
function isBelow(version: string, wanted: readonly number[]): boolean {
  const parts = version.split('.').map((part) => Number.parseInt(part, 10))
  const differs = wanted.findIndex((part, i) => (parts[i] ?? 0) !== part)
  return differs >= 0 && (parts[differs] ?? 0) < wanted[differs]!
}

function workers({ workers: { runtime: wanted } }: Config): Result[] {
  if (wanted === 'off') return []
  const binary = findWorkerd()
  return [binary === undefined ? warn(howToInstall(PACKAGE_ROOT, WORKERD_VERSION)) : ok(binary)]
}

/** Descriptors besides connections: store, spool, log files, listeners. */
const OTHER_DESCRIPTORS = 1024

function descriptors({ proxy: { limits, origin } }: Config): Result[] {
  let text
  try {
    text = readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return [warn('the limit cannot be read on this system; check that ulimit -n is high enough')]
  }
  const [, soft = ''] = /^Max open files\s+(\d+|unlimited)/m.exec(text) ?? []
  const limit = soft === 'unlimited' ? Infinity : Number(soft)
  const wanted = limits.connections + origin.connections + OTHER_DESCRIPTORS
  if (limit >= wanted) return [ok(`${soft} open files are allowed, ${wanted} are enough`)]
  return [
    fail(
      `${soft} open files are allowed, but proxy.limits.connections: ${limits.connections} needs ${wanted}; set ` +
        `LimitNOFILE=${wanted} in the service, or ulimit -n ${wanted}, or lower the option`,
    ),
  ]
}

/** Certificates that are valid for less than a week are named. */
const EXPIRES_SOON_MS = 7 * 86_400_000

/** Time by which a clock may differ from the clock of Redis: tokens, leases and batches carry times. */
const MAX_SKEW_MS = 1000

async function clock({ store }: Config): Promise<Result[]> {
  const { mtimeMs } = await stat(join(PACKAGE_ROOT, 'package.json'))
  if (Date.now() < mtimeMs - 86_400_000)
    return [
      fail(`the time is ${new Date().toISOString()}, before edged was installed; start a time service such as chrony`),
    ]
  if (!isRedis(store)) return [ok(`the time is ${new Date().toISOString()}`)]
  return await withRedis(store, async (connection) => {
    const before = Date.now()
    const [seconds, micros] = await connection.time()
    const middle = (before + Date.now()) / 2
    const skew = Math.round(Math.abs(Number(seconds) * 1000 + Number(micros) / 1000 - middle))
    if (skew <= MAX_SKEW_MS) return [ok(`differs from that of Redis by ${skew} ms`)]
    return [fail(`differs from that of Redis by ${skew} ms; start a time service such as chrony on both machines`)]
  })
}

const MIN_FREE_BYTES = 1e9

async function disk({ data, logpush }: Config): Promise<Result[]> {
  const probe = join(data, `.doctor-${process.pid}`)
  try {
    await makeFolder(fs, data)
    const file = await open(probe, 'wx')
    await file.sync()
    await file.close()
  } catch (error) {
    return [
      fail(`data: ${data} cannot be written (${messageOf(error)}); change its owner, or set data to another folder`),
    ]
  } finally {
    await rm(probe, { force: true }).catch(() => undefined)
  }
  const { bavail, bsize } = await statfs(data)
  const free = bavail * bsize
  const size = `${(free / 1e9).toFixed(1)} GB are free at ${data}`
  if (free < MIN_FREE_BYTES) return [fail(`${size}; free at least 1 GB, or set data to another disk`)]
  if (free < logpush.retention_bytes)
    return [warn(`${size}, less than logpush.retention_bytes; lower the option, or free space`)]
  return [ok(size)]
}

async function redis({ store }: Config): Promise<Result[]> {
  if (!isRedis(store))
    return store === 'memory' ? [warn('store: memory loses everything at the end of the daemon')] : []
  return await withRedis(store, async (connection) => {
    const risky = await riskySettings(connection)
    if (risky.length === 0) return [ok('confirmed writes survive a crash')]
    return risky.map(({ setting, wanted, found, risk }) =>
      found === undefined
        ? warn(`${setting} cannot be read (${risk}); it should be ${wanted}`)
        : fail(`${setting} is ${found}: ${risk}; set ${setting} ${wanted} in redis.conf`),
    )
  })
}

async function nats({ logpush: { spool } }: Config): Promise<Result[]> {
  if (spool === 'embedded') return []
  const { where, replicas } = natsTarget(spool)
  try {
    const { version, jetstream } = await natsServer(spool)
    if (!jetstream) return [fail(`${where} has no JetStream; start nats-server with -js`)]
    if (replicas > 1) return [ok(`${where} runs nats-server ${version}`)]
    return [
      warn(
        `${where} runs nats-server ${version} with one replica: a power failure can lose the last two minutes of log records; ` +
          'use replicas=3, or sync_interval: always',
      ),
    ]
  } catch (error) {
    return [fail(`${where} cannot be used: ${messageOf(error)}`)]
  }
}

/** Asks the running daemon: nobody else has all records. */
async function secrets({ admin, secrets: { old_keys: old = [] } }: Config): Promise<Result[]> {
  const running = await runningStatus(admin.listen)
  if (running?.secrets) return secretsLines(running.secrets)
  return old.length === 0 ? [] : [warn('start the daemon to see how much the old keys still encrypt')]
}

async function machines(config: Config): Promise<Result[]> {
  if (!isRedis(config.store)) return []
  const self = (await runningStatus(config.admin.listen))?.machine ?? undefined
  return await withRedis(config.store, async (connection) => await reachMachines(connection, config, self))
}

/** Asks the running daemon, which knows the orders and the zones of the API. */
async function certificates(config: Config): Promise<Result[]> {
  if (!config.proxy.tls) return []
  const running = await runningStatus(config.admin.listen)
  const missing = running?.missing_certificates ?? missingInFile(config)
  const soon = Date.now() + EXPIRES_SOON_MS
  const expiring = (running?.certificates ?? []).filter(({ not_after: at }) => Date.parse(at) < soon)
  const results = [
    ...missing.map((one) => warn(missingText(one))),
    ...expiring.map(({ names, not_after: at }) => warn(`the certificate of ${names.join(', ')} is valid until ${at}`)),
  ]
  return results.length > 0 ? results : [ok('every served host name has a certificate')]
}

async function ports(config: Config): Promise<Result[]> {
  const addresses = [
    ['proxy.listen', config.proxy.listen],
    ...(config.proxy.tls ? [['proxy.tls.listen', config.proxy.tls.listen]] : []),
    ['control.listen', config.control.listen],
    ['admin.listen', config.admin.listen],
  ] as [option: string, address: string][]
  const running = await runningDaemon(config.admin.listen)
  const results: Result[] = []
  for (const [option, address] of addresses) results.push(await portResult(option, address, running))
  return results
}

interface RunningDaemon {
  readonly pid: number
  readonly ports: ReadonlySet<number>
}

/** Returns the daemon behind an admin listener, undefined if none responds. */
async function runningDaemon(admin: string): Promise<RunningDaemon | undefined> {
  const status = await runningStatus(admin)
  if (!status) return undefined
  const ports = Object.values(status.listeners).map((url) => {
    const { port, protocol } = new URL(url)
    return Number(port || (protocol === 'https:' ? 443 : 80))
  })
  return { pid: status.pid, ports: new Set(ports) }
}

async function runningStatus(admin: string): Promise<DaemonStatus | undefined> {
  try {
    return (await askDaemon('GET', '/status', { admin })).body as DaemonStatus
  } catch {
    return undefined
  }
}

/** Returns what to say if a daemon with another configuration file listens on the admin address. */
export async function otherDaemonOf({ admin }: Config, file: string): Promise<string | undefined> {
  const running = await runningStatus(admin.listen)
  return running && otherDaemon(running, file, admin.listen)
}

async function portResult(option: string, address: string, running?: RunningDaemon): Promise<Result> {
  const path = socketPath(address)
  if (path !== undefined) {
    const found = await stat(dirname(path)).catch(() => undefined)
    return found ? ok(`${option}: ${address}`) : fail(`${option}: the folder of ${path} does not exist; create it`)
  }
  const server = createServer()
  try {
    await bind(server, address)
    await new Promise((resolve) => server.close(resolve))
    return ok(`${option}: ${address} is free`)
  } catch (error) {
    if (running?.ports.has(hostAndPort(address).port))
      return ok(`${option}: ${address} is used by the running daemon (process ${running.pid})`)
    return fail(`${option}: ${messageOf(error)}`)
  }
}

const isRedis = (store: string): boolean => store.startsWith('redis')

/** Runs checks on a connection to Redis. */
async function withRedis(url: string, run: (connection: Redis) => Promise<Result[]>): Promise<Result[]> {
  const connection = redisConnection(url, { retryStrategy: () => null })
  let issue: unknown
  connection.on('error', (error) => (issue = error))
  try {
    await connectRedis(connection)
    return await run(connection)
  } catch (error) {
    return [
      fail(`Redis at ${new URL(url).host} cannot be used (${messageOf(issue ?? error)}); start it, or change store`),
    ]
  } finally {
    connection.disconnect()
  }
}
