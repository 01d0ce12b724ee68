import { DiscardPolicy, JetStreamApiError, StorageType } from '@nats-io/jetstream'
import type { NatsLibrary } from '../../../pipelines/logpush/spool/nats/library.js'
import type { Faults } from '../faults.js'
import type { Life, Scheduler } from '../scheduler.js'
import type { SimulatedStream } from './server.js'

const MAX_DELAY_MS = 60
const MAX_AWAY_MS = 40_000
const TIMEOUT_MS = 4000
/** A connection without a response to pings is closed after this time. */
const SILENT_MS = 10_000

/** A connection of one life, with its subscription to announcements. */
class SimulatedConnection {
  readonly life: Life
  readonly info = { max_payload: 1024 * 1024 }
  readonly #network: SimulatedNats
  #isClosed = false
  #end = () => {}
  readonly #ended = new Promise<void>((resolve) => (this.#end = resolve))
  readonly #arrived: { subject: string; data: Uint8Array }[] = []
  #wake = () => {}

  constructor(life: Life, network: SimulatedNats) {
    this.life = life
    this.#network = network
  }

  isClosed(): boolean {
    return this.#isClosed
  }

  async closed(): Promise<void> {
    await this.#ended
  }

  async close(): Promise<void> {
    this.end()
    return await Promise.resolve()
  }

  end(): void {
    this.#isClosed = true
    this.#network.connections.delete(this)
    this.#end()
    this.#wake()
  }

  async flush(): Promise<void> {
    await this.#network.request(this, 'flush', () => undefined)
  }

  publish(subject: string, text: string): void {
    this.#network.announce(this, subject, text)
  }

  async *subscribe(): AsyncGenerator<{ subject: string; data: Uint8Array }> {
    while (!this.#isClosed) {
      const next = this.#arrived.shift()
      if (next !== undefined) yield next
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  deliver(subject: string, text: string): void {
    this.#arrived.push({ subject, data: Buffer.from(text) })
    this.#wake()
  }
}

/** The network between the machines and the servers: requests and responses are late, lost, or end with their connection. */
export class SimulatedNats {
  readonly connections = new Set<SimulatedConnection>()
  readonly #stream: SimulatedStream
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  readonly #awayUntil = new Map<string, number>()
  /** Deletions whose machine has no response. */
  readonly #uncounted = new Set<{ readonly life: Life; records: number }>()

  constructor(stream: SimulatedStream, scheduler: Scheduler, faults: Faults) {
    this.#stream = stream
    this.#scheduler = scheduler
    this.#faults = faults
  }

  /** Returns the number of deleted records that no machine can count, because the one that deleted them has ended. */
  uncountable(): number {
    let records = 0
    for (const of of this.#uncounted) if (!of.life.alive) records += of.records
    return records
  }

  /** The client library as one life uses it. */
  library(life: Life): NatsLibrary {
    const stream = this.#stream
    const request = async (connection: SimulatedConnection, name: string, work: () => unknown) =>
      await this.request(connection, name, work)
    const jetstream = (connection: SimulatedConnection) => ({
      publish: async (subject: string, bytes: Uint8Array, { msgID }: { msgID: string }) => {
        // The memory of a frame is used again after its attempt.
        const copy = new Uint8Array(bytes)
        return await request(connection, 'publish', () => stream.publish(subject, copy, msgID))
      },
    })
    const jetstreamManager = async (connection: SimulatedConnection) =>
      await Promise.resolve({
        streams: {
          info: async () => await request(connection, 'info', () => stream.info()),
          add: async (config: Record<string, unknown>) => await request(connection, 'add', () => stream.add(config)),
          purge: async (_: string, options: { filter?: string; seq: number }) => {
            const of = { life, records: 0 }
            this.#uncounted.add(of)
            const response = await request(connection, `purge ${options.seq}`, () => {
              const purged = stream.purge(options)
              of.records = stream.purgedRecords
              return purged
            })
            this.#uncounted.delete(of)
            return response
          },
          getMessage: async (_: string, query: Parameters<SimulatedStream['message']>[0]) =>
            await request(connection, `leader ${query.seq}`, () => stream.message(query)),
        },
        direct: {
          getMessage: async (_: string, query: Parameters<SimulatedStream['message']>[0]) =>
            await request(connection, `replica ${query.seq}`, () => stream.direct(query)),
        },
      })
    return {
      jetstream: async () =>
        await Promise.resolve({ DiscardPolicy, JetStreamApiError, StorageType, jetstream, jetstreamManager }),
      connect: async () => await this.#connect(life),
    } as unknown as NatsLibrary
  }

  /** Sends a request. Its response may be lost, and then it times out. */
  async request(connection: SimulatedConnection, name: string, work: () => unknown): Promise<unknown> {
    if (connection.isClosed()) throw new Error('simulated: the connection is closed')
    const { life } = connection
    return await new Promise((resolve, reject) => {
      this.#scheduler.later(life, 'timeout', TIMEOUT_MS, () => reject(new Error('simulated: no response')))
      this.#scheduler.later(this.#stream.life, `${life.name} ${name}`, this.#delay(), () => {
        if (this.#isCut(connection)) return
        let respond: () => void
        try {
          const response = work()
          respond = () => resolve(response)
        } catch (error) {
          respond = () => reject(error)
        }
        if (this.#faults.has('restart')) return this.#restart()
        if (this.#faults.has('unheard')) return
        this.#scheduler.later(life, `response ${name}`, this.#delay(), respond)
      })
    })
  }

  /** Tells all connections. An announcement may be lost. */
  announce(from: SimulatedConnection, subject: string, text: string): void {
    for (const connection of this.connections) {
      if (this.#faults.has('broken') || this.#isAway(from.life) || this.#isAway(connection.life)) continue
      this.#scheduler.later(connection.life, 'announcement', this.#delay(), () => connection.deliver(subject, text))
    }
  }

  async #connect(life: Life): Promise<SimulatedConnection> {
    return await this.#scheduler.call(
      life,
      'connect',
      () => {
        if (this.#scheduler.time < this.#stream.downUntil || this.#isAway(life))
          throw new Error('simulated: connection refused')
        const connection = new SimulatedConnection(life, this)
        this.connections.add(connection)
        return connection
      },
      this.#delay(),
    )
  }

  #delay(): number {
    return this.#faults.random.below(MAX_DELAY_MS)
  }

  #isAway({ name }: Life): boolean {
    return this.#scheduler.time < (this.#awayUntil.get(name[0]!) ?? 0)
  }

  /** Whether a request does not arrive. */
  #isCut(connection: SimulatedConnection): boolean {
    const { life } = connection
    if (this.#faults.has('away')) {
      this.#awayUntil.set(life.name[0]!, this.#scheduler.time + this.#faults.random.below(MAX_AWAY_MS))
      this.#scheduler.later(life, 'no pings', SILENT_MS, () => {
        if (this.#isAway(life)) connection.end()
      })
    }
    return this.#isAway(life) || connection.isClosed() || this.#faults.has('broken')
  }

  #restart(): void {
    this.#stream.restart()
    for (const connection of this.connections)
      this.#scheduler.later(connection.life, 'closed', this.#delay(), () => connection.end())
  }
}
