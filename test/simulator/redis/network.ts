import type { Faults } from '../faults.js'
import type { Life, Scheduler } from '../scheduler.js'
import { ReplyError, type SimulatedRedis } from './server.js'

const MAX_DELAY_MS = 50
const MAX_AWAY_MS = 40_000
const MAX_DOWN_MS = 20_000
const MAX_FULL_MS = 20_000
const MAX_LOST_MS = 1000
const MAX_LAG_MS = 400
const MAX_WITHOUT_REPLICA_MS = 30_000
const COMMAND_TIMEOUT_MS = 5000
const WRITES = new Set(['evalsha', 'hset', 'set', 'exec'])

interface Command {
  readonly name: string
  readonly args: readonly string[]
  readonly settle: (error: Error | undefined, reply?: unknown) => void
}

/** One connection between a machine and the server. Commands and replies keep their order. */
export interface Connection {
  readonly life: Life
  readonly closed: () => void
  isOpen: boolean
  readonly sent: Command[]
  readonly replies: (() => void)[]
  /** Number of changes after the last write of this connection. */
  offset: number
}

/** What the server loses when it fails. */
export interface Profile {
  /** It loses the last second. */
  readonly forgets: boolean
  /** Another server takes over, with what it has got. */
  readonly failsOver: boolean
}

/** The connections of all machines to one server: with delays, cut off, and broken when the server fails. */
export class SimulatedNetwork {
  readonly #server: SimulatedRedis
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  readonly #profile: Profile
  /** Called with the version of the last batch that is left after a loss. */
  readonly #lost: (version: number) => void
  readonly #connections = new Set<Connection>()
  readonly #awayUntil = new Map<string, number>()
  readonly #blocked = new Set<() => void>()
  #downUntil = 0
  #fullUntil = 0

  constructor(
    server: SimulatedRedis,
    {
      scheduler,
      faults,
      profile,
      lost,
    }: { scheduler: Scheduler; faults: Faults; profile: Profile; lost: (version: number) => void },
  ) {
    this.#server = server
    this.#scheduler = scheduler
    this.#faults = faults
    this.#profile = profile
    this.#lost = lost
  }

  /** Connects, or returns undefined while the server cannot be reached. */
  connect(life: Life, closed: () => void): Connection | undefined {
    if (this.#scheduler.time < Math.max(this.#downUntil, this.#away(life))) return undefined
    const connection: Connection = { life, closed, isOpen: true, sent: [], replies: [], offset: 0 }
    this.#connections.add(connection)
    return connection
  }

  send(connection: Connection, command: Command): void {
    connection.sent.push(command)
    this.#arrive(connection)
    this.#scheduler.later(connection.life, 'timeout', COMMAND_TIMEOUT_MS, () =>
      command.settle(new Error('Command timed out')),
    )
  }

  /** The machine ends a connection. What it has sent may still arrive. */
  end(connection: Connection): void {
    if (!connection.isOpen) return
    connection.isOpen = false
    connection.sent.splice(this.#faults.random.below(connection.sent.length + 1))
    connection.closed()
  }

  /** The server or the network ends it. */
  #break(connection: Connection): void {
    connection.sent.length = 0
    connection.replies.length = 0
    this.#connections.delete(connection)
    if (!connection.isOpen) return
    connection.isOpen = false
    this.#scheduler.later(connection.life, 'closed', this.#delay(), () => connection.closed())
  }

  #away({ name }: Life): number {
    return this.#awayUntil.get(name[0]!) ?? 0
  }

  #delay(): number {
    return this.#faults.random.below(MAX_DELAY_MS)
  }

  #arrive(connection: Connection): void {
    const delay = Math.max(0, this.#away(connection.life) - this.#scheduler.time) + this.#delay()
    this.#scheduler.later(this.#server.life, `to redis ${connection.life.name}`, delay, () => this.#receive(connection))
  }

  /** The server gets the oldest command of a connection. */
  #receive(connection: Connection): void {
    if (connection.sent.length === 0) return
    if (this.#scheduler.time < this.#away(connection.life)) return this.#arrive(connection)
    const { random } = this.#faults
    if (this.#faults.has('away'))
      this.#awayUntil.set(connection.life.name[0]!, this.#scheduler.time + random.below(MAX_AWAY_MS))
    if (this.#faults.has('broken')) return this.#break(connection)
    const command = connection.sent.shift()!
    if (command.name === 'wait') this.#wait(connection, command)
    else if (command.name === 'xread' && command.args.includes('BLOCK')) this.#read(connection, command)
    else this.#run(connection, command)
    if (this.#faults.has('restart')) this.#restart()
  }

  #run(connection: Connection, command: Command): void {
    const { time } = this.#scheduler
    if (this.#faults.has('full')) this.#fullUntil = time + this.#faults.random.below(MAX_FULL_MS)
    if (time < this.#fullUntil && WRITES.has(command.name))
      return this.#reply(connection, command, new ReplyError("OOM command not allowed when used memory > 'maxmemory'."))
    const before = this.#server.offset
    let reply: unknown
    try {
      reply = this.#server.run(command.name, command.args)
    } catch (error) {
      return this.#reply(connection, command, error as Error)
    }
    if (this.#server.offset > before) {
      connection.offset = this.#server.offset
      this.#written()
    }
    if (this.#faults.has('unheard')) return this.#break(connection)
    this.#reply(connection, command, undefined, reply)
  }

  #written(): void {
    const { offset } = this.#server
    const lag = this.#faults.random.below(MAX_LAG_MS)
    this.#scheduler.later(this.#server.life, 'replicate', lag, () => this.#server.replicate(offset))
    for (const wake of this.#blocked) wake()
    this.#blocked.clear()
  }

  /** A read that waits for an entry, at most for its time. */
  #read(connection: Connection, command: Command): void {
    const reply = this.#server.run('xread', command.args)
    if (reply !== null) return this.#reply(connection, command, undefined, reply)
    let isOver = false
    const over = () => {
      if (isOver) return
      isOver = true
      this.#reply(connection, command, undefined, this.#server.run('xread', command.args))
    }
    this.#blocked.add(over)
    const ms = Number(command.args[command.args.indexOf('BLOCK') + 1])
    this.#scheduler.later(this.#server.life, 'end of block', ms, over)
  }

  /** Waits for the replica. */
  #wait(connection: Connection, command: Command): void {
    const until = this.#scheduler.time + Number(command.args[1])
    const { offset } = connection
    const look = () => {
      const count = this.#server.replicated(offset) ? 1 : 0
      if (count > 0 || this.#scheduler.time >= until) this.#reply(connection, command, undefined, count)
      else this.#scheduler.later(this.#server.life, 'wait', 50, look)
    }
    look()
  }

  #reply(connection: Connection, command: Command, error: Error | undefined, reply?: unknown): void {
    if (!this.#connections.has(connection)) return
    connection.replies.push(() => command.settle(error, reply))
    const answer = () => {
      const away = this.#away(connection.life) - this.#scheduler.time
      if (away > 0) this.#scheduler.later(connection.life, 'from redis', away + this.#delay(), answer)
      else if (connection.isOpen) connection.replies.shift()?.()
    }
    this.#scheduler.later(connection.life, `reply to ${command.name}`, this.#delay(), answer)
  }

  /** The server ends, and another run begins. */
  #restart(): void {
    const { random } = this.#faults
    const { forgets, failsOver } = this.#profile
    const failover = failsOver && this.#server.hasReplica
    const since = forgets ? this.#scheduler.time - random.below(MAX_LOST_MS) : Infinity
    this.#server.restart({ since, failover })
    this.#scheduler.say(`redis is restarted, with version ${this.#server.version}`)
    this.#lost(this.#server.version)
    for (const connection of this.#connections) this.#break(connection)
    this.#blocked.clear()
    this.#downUntil = this.#scheduler.time + random.below(MAX_DOWN_MS)
    if (failover)
      this.#scheduler.later(this.#server.life, 'new replica', random.below(MAX_WITHOUT_REPLICA_MS), () =>
        this.#server.addReplica(),
      )
  }
}
