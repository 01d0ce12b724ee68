import type { WebSocket } from 'ws'
import type { Clock } from '../../src/core/clock.js'

const MOST = 10
const PROBE_MS = 30_000
/** Clients that were asked to go have this long. */
const CLOSE_MS = 1000

// RFC 6455, 7.4
const GOING_AWAY = 1001
const TRY_LATER = 1013

/** The WebSockets that listen to one thing, ten at most. */
export class LiveClients implements Iterable<WebSocket> {
  /** Each with whether it has answered since it was last asked. */
  readonly #clients = new Map<WebSocket, boolean>()
  readonly #clock: Clock
  #probedAt: number
  #usedAt: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#probedAt = clock.now()
    this.#usedAt = clock.now()
  }

  get size(): number {
    return this.#clients.size
  }

  [Symbol.iterator](): Iterator<WebSocket> {
    return this.#clients.keys()
  }

  /** Takes a client in; `left` is told when it has gone. False: it is one too many, and was asked to come later. */
  join(client: WebSocket, left?: () => void): boolean {
    client.on('error', () => client.terminate())
    if (this.size >= MOST) {
      client.close(TRY_LATER, `at most ${MOST} clients`)
      return false
    }
    this.#clients.set(client, true)
    client.on('pong', () => this.#clients.has(client) && this.#clients.set(client, true))
    client.once('close', () => {
      this.#clients.delete(client)
      this.#usedAt = this.#clock.now()
      left?.()
    })
    return true
  }

  /** Forgets all. */
  clear(): void {
    this.#clients.clear()
  }

  /** How long nobody has listened, in milliseconds. */
  get unusedMs(): number {
    return this.size > 0 ? 0 : this.#clock.now() - this.#usedAt
  }

  /** Asks clients now and then whether they are still there, and lets go of those that did not answer. */
  probe(): void {
    const now = this.#clock.now()
    if (now - this.#probedAt < PROBE_MS) return
    this.#probedAt = now
    for (const [client, alive] of this.#clients) {
      if (!alive) client.terminate()
      this.#clients.set(client, false)
      if (alive) client.ping()
    }
  }

  /** Asks all to go because the daemon stops; those that do not are disconnected a little later. */
  closeAll(): void {
    for (const client of this.#clients.keys()) {
      client.close(GOING_AWAY, 'the daemon stops')
      setTimeout(() => client.terminate(), CLOSE_MS).unref()
    }
  }

  /** Asks all to go, by a code of RFC 6455, 7.4. */
  close(code: number, reason: string): void {
    for (const client of this.#clients.keys()) client.close(code, reason)
  }
}
