import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { freePort } from './free-port.js'

/** Why tests with a real Redis are skipped; false if the server is installed. */
export const NO_REDIS: string | false =
  spawnSync('redis-server', ['--version']).status === 0 ? false : 'redis-server is not installed'

/** A Redis for one test, on 127.0.0.1. */
export interface RedisServer {
  readonly url: string
  readonly port: number
  /** Id of the process; undefined after a kill. */
  readonly pid: number | undefined
  /** Starts the process, again after a kill, on the same port and data. */
  start(): Promise<void>
  /** Ends the process with SIGKILL, as a crash would. */
  kill(): Promise<void>
}

/**
 * Starts a server that confirms only data on the disk, in `folder`. More arguments follow its own; with `sentinel` it is
 * a sentinel with this configuration file.
 */
export async function redisServer(
  folder: string,
  ...more: string[] | [{ readonly sentinel: string }]
): Promise<RedisServer> {
  const port = await freePort()
  const safe = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '', '--loglevel', 'warning']
  let child: ChildProcess | undefined

  async function start(): Promise<void> {
    const [first] = more
    const listen = ['--port', String(port), '--bind', '127.0.0.1']
    const own = spawn(
      'redis-server',
      typeof first === 'object'
        ? [first.sentinel, ...listen, '--sentinel']
        : [...listen, '--dir', folder, ...safe, ...(more as string[])],
      { stdio: 'ignore' },
    )
    child = own
    await responding(port, own)
  }

  async function kill(): Promise<void> {
    const own = child
    child = undefined
    if (!own || own.exitCode !== null || own.signalCode !== null) return
    own.kill('SIGKILL')
    await once(own, 'exit')
  }

  await start()
  return {
    url: `redis://127.0.0.1:${port}/0`,
    port,
    get pid() {
      return child?.pid
    },
    start,
    kill,
  }
}

async function responding(port: number, child: ChildProcess): Promise<void> {
  const probe = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => 30, maxRetriesPerRequest: 300 })
  probe.on('error', () => undefined)
  try {
    // The offline queue delays the PING until the server has loaded its data and responds.
    await Promise.race([
      probe.ping().catch(passwordWanted),
      once(child, 'exit').then(() => Promise.reject(new Error('redis-server ended while it started'))),
    ])
  } finally {
    probe.disconnect()
  }
}

/** Ignores an error that requires a password: the server responds. Throws all others. */
function passwordWanted(error: unknown): void {
  if (!String(error).includes('NOAUTH')) throw error
}
