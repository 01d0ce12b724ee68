import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect as dial } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { Test } from 'tap'
import { freePort } from './free-port.js'

/** Why tests with a real NATS server are skipped; false if it is installed. */
export const NO_NATS: string | false =
  spawnSync('nats-server', ['--version']).status === 0 ? false : 'nats-server is not installed'

/** A NATS server with JetStream for one test, on 127.0.0.1. */
export interface NatsServer {
  readonly url: string
  /** Id of the process; undefined after a kill. */
  readonly pid: number | undefined
  /** Starts the process, again after a kill, on the same port and data. */
  start(): Promise<void>
  /** Ends the process with SIGKILL. */
  kill(): Promise<void>
}

/** Starts a server with its data in `folder`. More `arguments` follow its own. */
export async function natsServer(folder: string, ...more: string[]): Promise<NatsServer> {
  const port = await freePort()
  let child: ChildProcess | undefined
  async function start(): Promise<void> {
    child = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', folder, ...more], {
      stdio: 'ignore',
    })
    await accepting(port, child)
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
    url: `nats://127.0.0.1:${port}`,
    get pid() {
      return child?.pid
    },
    start,
    kill,
  }
}

/** Starts servers that are one cluster, named `s0`, `s1` and so on, with their data in `folder`. */
export async function natsCluster(folder: string, count: number): Promise<NatsServer[]> {
  const routes = await Promise.all(Array.from({ length: count }, async () => await freePort()))
  const all = routes.map((port) => `nats://127.0.0.1:${port}`).join(',')
  return await Promise.all(
    routes.map(async (port, n) => {
      const cluster = ['--cluster_name', 'test', '--cluster', `nats://127.0.0.1:${port}`, '--routes', all]
      return await natsServer(join(folder, `nats-${n}`), '--name', `s${n}`, ...cluster)
    }),
  )
}

async function accepting(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const socket = dial(port, '127.0.0.1')
    const open = await Promise.race([once(socket, 'connect'), once(socket, 'error')]).then(
      () => !socket.connecting && socket.readyState === 'open',
      () => false,
    )
    socket.destroy()
    if (open) return
    await setTimeout(20)
  }
  throw new Error('nats-server ended while it started')
}

/** Connects to a server, for one test. */
export const natsClient = async (t: Test, { url }: NatsServer): Promise<NatsConnection> => {
  const client = await connect({ servers: url, reconnect: false })
  t.teardown(async () => await client.close())
  return client
}
