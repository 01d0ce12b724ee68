import type { Connector } from './connector.js'
import { OriginConnection, type ConnectionOwner, type OriginLimits, type OriginRequest } from './origin-connection.js'
import { Overloaded, WaitedTooLong } from './origin-errors.js'

/** Connections to one origin, and the requests that wait for one. */
export class Origin implements ConnectionOwner {
  /** Milliseconds since there was a request. */
  idleMs = 0
  readonly limits: OriginLimits
  readonly #connector: Connector
  /** Those that requests may be sent on, the ones being made among them. */
  readonly #connections = new Set<OriginConnection>()
  /** Those without a request; the one that was used last at the end, since it is the least likely to be closing. */
  readonly #idle: OriginConnection[] = []
  /** With the milliseconds that they have waited; oldest first. */
  readonly #waiting = new Map<OriginRequest, number>()
  /** Told when no request is left, and set where no more are to come. */
  #finished: (() => void) | undefined

  constructor(connector: Connector, limits: OriginLimits) {
    this.#connector = connector
    this.limits = limits
  }

  /** Requests that were sent and are not answered, the waiting ones among them. */
  get active(): number {
    return this.#connections.size - this.#idle.length + this.#waiting.size
  }

  /**
   * Sends a request, or lets it wait for a connection; throws {@link Overloaded} where there is no room. `fresh`: on a
   * connection that was not used before.
   */
  send(request: OriginRequest, { fresh = false }: { fresh?: boolean } = {}): void {
    this.idleMs = 0
    const idle = fresh || request.upgrade ? undefined : this.#idle.pop()
    if (idle) idle.send(request)
    else if (this.#mayConnect()) this.#connect(request)
    else if (this.#waiting.size < this.limits.waiting) this.#waiting.set(request, 0)
    else throw new Overloaded('too many requests wait')
  }

  /** Nobody wants the answer any more. Nothing more is told to the request. */
  cancel(request: OriginRequest): void {
    if (request.connection) request.connection.abort()
    else if (this.#waiting.delete(request)) this.#settle()
  }

  released(connection: OriginConnection): void {
    const next = this.#first()
    if (next === undefined) {
      this.#idle.push(connection)
      this.#settle()
    } else if (next.upgrade) connection.close()
    else {
      this.#waiting.delete(next)
      connection.send(next)
    }
  }

  gone(connection: OriginConnection): void {
    if (!this.#connections.delete(connection)) return
    const at = this.#idle.indexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    const next = this.#first()
    if (next && this.#connections.size < this.limits.connections) {
      this.#waiting.delete(next)
      this.#connect(next)
    }
    this.#settle()
  }

  /** Ends what takes too long. To be called again and again, with the milliseconds since the last time. */
  tick(ms: number): void {
    for (const connection of this.#connections) connection.tick(ms)
    for (const [request, waited] of this.#waiting) {
      if (waited < this.limits.waiting_timeout) this.#waiting.set(request, waited + ms)
      else {
        this.#waiting.delete(request)
        request.fail(new WaitedTooLong('no connection to the origin became free'))
      }
    }
    if (this.active === 0) this.idleMs += ms
    this.#settle()
  }

  /** Resolves when the requests under way have their answers. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#finished = resolve
      this.#settle()
    })
  }

  /** Ends all there is. */
  destroy(): void {
    for (const request of this.#waiting.keys()) request.fail(new Error('the proxy is closing'))
    this.#waiting.clear()
    for (const connection of this.#connections) connection.close()
    this.#settle()
  }

  #mayConnect(): boolean {
    // An idle one makes room for one that is wanted new.
    if (this.#connections.size >= this.limits.connections) this.#idle[0]?.close()
    return this.#connections.size < this.limits.connections
  }

  #connect(request: OriginRequest): void {
    try {
      this.#connections.add(new OriginConnection(this.#connector, this, request))
    } catch (error) {
      request.connection = undefined
      request.fail(error as Error)
    }
  }

  /** The one that has waited longest. */
  #first(): OriginRequest | undefined {
    return this.#waiting.size === 0 ? undefined : this.#waiting.keys().next().value
  }

  #settle(): void {
    if (!this.#finished) return
    while (this.#idle.length > 0) this.#idle.at(-1)!.close()
    if (this.active === 0) this.#finished()
  }
}
