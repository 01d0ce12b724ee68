import { EventEmitter } from 'node:events'
import type { Redis } from 'ioredis'
import type { Link } from '../../../src/store/redis/connection.js'
import type { Life, Scheduler } from '../scheduler.js'
import type { Connection, SimulatedNetwork } from './network.js'

const RETRY_MS = 400
const COMMANDS = [
  'ping',
  'info',
  'xlen',
  'hget',
  'hmget',
  'hset',
  'del',
  'set',
  'scan',
  'xrange',
  'xread',
  'eval',
  'evalsha',
  'wait',
] as const

type Reply = readonly [error: Error | null, reply?: unknown]

/** A connection of ioredis as the store configures it: nothing is queued, and what is not answered fails with the connection. */
class SimulatedClient extends EventEmitter {
  status: 'ready' | 'reconnecting' | 'end' = 'reconnecting'
  readonly options = {}
  readonly #life: Life
  readonly #scheduler: Scheduler
  readonly #network: SimulatedNetwork
  readonly #pending = new Set<(error: Error) => void>()
  #connection: Connection | undefined

  constructor(life: Life, scheduler: Scheduler, network: SimulatedNetwork) {
    super()
    this.#life = life
    this.#scheduler = scheduler
    this.#network = network
    for (const name of COMMANDS)
      Object.assign(this, { [name]: async (...args: readonly (string | number)[]) => await this.#send(name, args) })
    this.#connect()
  }

  disconnect(again = false): void {
    if (!again) this.status = 'end'
    if (this.#connection) this.#network.end(this.#connection)
  }

  async quit(): Promise<void> {
    await this.#send('ping', [])
    this.disconnect()
  }

  pipeline() {
    const replies: Promise<Reply>[] = []
    return {
      hmgetBuffer: (...args: readonly string[]) => {
        const bytes = (reply: unknown) =>
          (reply as (string | null)[]).map((text) => (text === null ? null : Buffer.from(text)))
        replies.push(
          this.#send('hmget', args).then(
            (reply): Reply => [null, bytes(reply)],
            (error: unknown): Reply => [error as Error],
          ),
        )
      },
      exec: async () => await Promise.all(replies),
    }
  }

  multi() {
    const commands: string[][] = []
    const add =
      (name: string) =>
      (...args: readonly unknown[]) =>
        void commands.push([name, ...args.map(String)])
    return {
      hset: add('hset'),
      del: add('del'),
      exec: async () => await this.#send('exec', [JSON.stringify(commands)]),
    }
  }

  async #send(name: string, args: readonly (string | number)[]): Promise<unknown> {
    const connection = this.#connection
    if (this.status !== 'ready' || connection === undefined)
      throw new Error("Stream isn't writeable and enableOfflineQueue options is false")
    return await new Promise((resolve, reject) => {
      this.#pending.add(reject)
      this.#network.send(connection, {
        name,
        args: args.map(String),
        settle: (error, reply) => {
          this.#pending.delete(reject)
          if (error) reject(error)
          else resolve(reply)
        },
      })
    })
  }

  #connect(): void {
    if (this.status === 'end') return
    this.#connection = this.#network.connect(this.#life, () => this.#closed())
    if (this.#connection) this.status = 'ready'
    else this.#scheduler.later(this.#life, 'connect', RETRY_MS, () => this.#connect())
  }

  #closed(): void {
    this.#connection = undefined
    if (this.status === 'ready') this.status = 'reconnecting'
    this.emit('close')
    for (const reject of this.#pending) reject(new Error('Connection is closed.'))
    this.#pending.clear()
    this.#scheduler.later(this.#life, 'connect', RETRY_MS, () => this.#connect())
  }
}

/** The two connections of a machine. */
export function simulatedLink(life: Life, scheduler: Scheduler, network: SimulatedNetwork, failsOver: boolean): Link {
  const client = () => new SimulatedClient(life, scheduler, network) as unknown as Redis
  return { redis: client(), follower: client(), where: 'the simulated Redis', failsOver, isReplaced: async () => false }
}
