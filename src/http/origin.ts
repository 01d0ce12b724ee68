import { LARGE_READS, TurnQueue } from '../core/schedule/turn-queue.js'
import { ClientShares } from './client-shares.js'
import type { Connector } from './connector.js'
import { OriginConnection, type ConnectionOwner, type OriginLimits, type OriginRequest } from './origin-connection.js'
import { Overloaded, WaitedTooLong } from './origin-errors.js'
import { RequestQueue } from './request-queue.js'

/**
 * Time after a response without a body in which a connection gets no request. A body that the origin still sends would
 * be mistaken for the next response.
 */
const QUARANTINE_MS = 100
/** Maximum share of one client in the queue (one in this many places), if more than half of the queue is used. */
const QUEUE_SHARE = 8

/** Connections to one origin, and the requests that wait for one. */
export class Origin implements ConnectionOwner {
  /** Milliseconds since the last request. */
  idleMs = 0
  readonly limits: OriginLimits
  readonly turns: TurnQueue
  readonly #connector: Connector
  /** Connections that requests may be sent on, including those being opened. */
  readonly #connections = new Set<OriginConnection>()
  /** Connections without a request. The most recently used is last, since it is the least likely to be closing. */
  readonly #idle: OriginConnection[] = []
  /** Connections without a request that get none yet, oldest first. */
  readonly #quarantined = new Set<OriginConnection>()
  readonly #queue = new RequestQueue()
  readonly #shares: ClientShares
  readonly #mayStart = (client: string | undefined): boolean => this.#shares.mayStart(client, this.#inUse)
  /** Called when no request is left. Set if no more are accepted. */
  #finished: (() => void) | undefined

  constructor(connector: Connector, limits: OriginLimits, turns = new TurnQueue(LARGE_READS)) {
    this.#connector = connector
    this.limits = limits
    this.turns = turns
    this.#shares = new ClientShares(limits.connections, () => this.#clients())
  }

  /** Returns the number of requests that were sent and have no complete response, plus the requests that wait. */
  get active(): number {
    return this.#inUse + this.#queue.size
  }

  /** Returns whether the rules that allowed its addresses have changed since. */
  get outdated(): boolean {
    return this.#connector.outdated
  }

  /**
   * Sends a request or queues it. Throws {@link Overloaded} if the queue is full. `fresh` requests a new connection.
   */
  send(request: OriginRequest, { fresh = false }: { fresh?: boolean } = {}): void {
    this.idleMs = 0
    if (this.#mayStart(request.client)) {
      const idle = fresh || needsOwn(request) ? undefined : this.#idle.pop()
      if (idle) {
        this.#shares.started(request.client)
        idle.send(request)
        return
      }
      if (this.#mayConnect()) {
        this.#connect(request)
        return
      }
    }
    const displaced = this.#placeFor(request.client)
    this.#queue.add(request)
    displaced?.fail(new Overloaded('too many requests of the client wait'))
  }

  /** Cancels a request. It gets no further calls. */
  cancel(request: OriginRequest): void {
    if (request.connection) request.connection.abort()
    else if (this.#queue.delete(request)) this.#settle()
  }

  released(connection: OriginConnection, quarantine: boolean): void {
    if (quarantine) {
      this.#quarantined.add(connection)
      setTimeout(() => {
        if (this.#quarantined.delete(connection)) this.#free(connection)
      }, QUARANTINE_MS).unref()
    } else this.#idle.push(connection)
    this.#shares.ended(connection.client, this.#inUse)
    this.#startNext()
    this.#settle()
  }

  gone(connection: OriginConnection): void {
    if (!this.#connections.delete(connection)) return
    const at = this.#idle.indexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    else if (!this.#quarantined.delete(connection)) this.#shares.ended(connection.client, this.#inUse)
    this.#startNext()
    this.#settle()
  }

  /**
   * Ends requests that take too long. Must be called repeatedly, with the milliseconds since the last call. Returns the
   * number of connections that were closed.
   */
  tick(ms: number): number {
    const before = this.#connections.size
    for (const connection of this.#connections) connection.tick(ms)
    const closed = before - this.#connections.size
    for (const request of this.#queue.expired(ms, this.limits.queue_timeout))
      request.fail(new WaitedTooLong('no connection to the origin became free'))
    this.#shares.tick(ms)
    if (this.#queue.size > 0 && this.#inUse >= this.limits.connections) this.#makeRoom()
    if (this.active === 0) this.idleMs += ms
    this.#settle()
    return Math.max(0, closed)
  }

  /** Resolves when the requests in progress have their responses. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#finished = resolve
      this.#settle()
    })
  }

  /** Closes everything. */
  destroy(): void {
    for (const request of this.#queue.drain()) request.fail(new Error('the proxy is closing'))
    for (const connection of this.#connections) connection.close()
    this.#settle()
  }

  get #inUse(): number {
    return this.#connections.size - this.#idle.length - this.#quarantined.size
  }

  *#clients(): Generator<string | undefined> {
    const idle = new Set(this.#idle)
    for (const connection of this.#connections)
      if (!idle.has(connection) && !this.#quarantined.has(connection)) yield connection.client
  }

  /**
   * Returns the request of another client that loses its place in a full queue. Undefined if the queue has capacity.
   * Throws {@link Overloaded} if the client gets no place.
   */
  #placeFor(client: string | undefined): OriginRequest | undefined {
    const isFull = this.#queue.size >= this.limits.queue_size
    const other = isFull ? this.#queue.shed(client) : undefined
    if (isFull ? !other : !this.#mayQueue(client)) throw new Overloaded('too many requests wait')
    return other
  }

  /** Returns whether a client may have one more request in a queue that is not full. */
  #mayQueue(client: string | undefined): boolean {
    const { queue_size: waiting } = this.limits
    if (client === undefined || waiting < QUEUE_SHARE || this.#queue.size < waiting / 2) return true
    return this.#queue.sizeOf(client) < waiting / QUEUE_SHARE
  }

  /** Ends the requests of the slowest clients, as many as others wait. They could occupy all connections for hours. */
  #makeRoom(): void {
    const slow: (readonly [connection: OriginConnection, rate: number])[] = []
    for (const connection of this.#connections) {
      const rate = connection.slowRate
      if (rate !== undefined) slow.push([connection, rate])
    }
    if (slow.length === 0) return
    slow.sort(([, a], [, b]) => a - b)
    for (const [connection] of slow.slice(0, this.#queue.startable(this.#mayStart))) {
      this.#shares.wasSlow(connection.client)
      connection.giveWay()
    }
  }

  /** Assigns a connection without a request to the next request that waits. */
  #free(connection: OriginConnection): void {
    const next = this.#queue.size === 0 ? undefined : this.#queueNext(connection)
    if (next === undefined) {
      this.#idle.push(connection)
      this.#settle()
    } else if (needsOwn(next)) {
      this.#discard(connection)
      this.#connect(next)
    } else {
      this.#shares.started(next.client)
      connection.send(next)
    }
  }

  /** Returns the next waiting request that may start when this connection is free. */
  #queueNext(free: OriginConnection): OriginRequest | undefined {
    this.#idle.push(free)
    const next = this.#queue.take(this.#mayStart)
    this.#idle.pop()
    return next
  }

  /** Starts a waiting request, if one may start. */
  #startNext(): void {
    if (this.#queue.size === 0) return
    const idle = this.#idle.pop()
    if (idle) {
      this.#free(idle)
      return
    }
    if (this.#connections.size >= this.limits.connections && this.#quarantined.size === 0) return
    const next = this.#queue.take(this.#mayStart)
    if (next && this.#mayConnect()) this.#connect(next)
  }

  /**
   * Returns whether a new connection may be opened. Closes a connection without a request if that makes it possible.
   */
  #mayConnect(): boolean {
    if (this.#connections.size >= this.limits.connections) {
      const unused = this.#idle.shift() ?? this.#quarantined.values().next().value
      if (unused) this.#discard(unused)
    }
    return this.#connections.size < this.limits.connections
  }

  /** Closes a connection that has no request. */
  #discard(connection: OriginConnection): void {
    this.#connections.delete(connection)
    this.#quarantined.delete(connection)
    connection.close()
  }

  #connect(request: OriginRequest): void {
    try {
      this.#connections.add(new OriginConnection(this.#connector, this, request))
      this.#shares.started(request.client)
    } catch (error) {
      request.connection = undefined
      request.fail(error as Error)
    }
  }

  #settle(): void {
    if (!this.#finished) return
    for (const connection of [...this.#idle, ...this.#quarantined]) connection.close()
    if (this.active === 0) this.#finished()
  }
}

/** Returns whether the request needs a connection that no other request uses. */
const needsOwn = ({ upgrade, preamble }: OriginRequest): boolean => upgrade || preamble !== undefined
