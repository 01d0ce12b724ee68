import type { WebSocket } from 'ws'
import type { Clock } from '../../src/core/clock.js'

const MAX_CLIENTS = 10
const PROBE_MS = 30_000
/** Time that clients have to close after the close frame. */
const CLOSE_MS = 1000

// RFC 6455, 7.4
const GOING_AWAY = 1001
const TRY_LATER = 1013

/** WebSocket clients of one source, ten at most. */
export class LiveClients implements Iterable<WebSocket> {
  /** Each client, and whether it has responded since the last ping. */
  readonly #clients = new Map<WebSocket, boolean>()
  readonly #clock: Clock
  #probedAt: number
  #usedAt: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#probedAt = clock.monotonic()
    this.#usedAt = clock.monotonic()
  }

  get size(): number {
    return this.#clients.size
  }

  [Symbol.iterator](): Iterator<WebSocket> {
    return this.#clients.keys()
  }

  /** Adds a client; `left` is called when it disconnects. Beyond the limit, closes the client and returns false. */
  join(client: WebSocket, left?: () => void): boolean {
    client.on('error', () => client.terminate())
    if (this.size >= MAX_CLIENTS) {
      client.close(TRY_LATER, `at most ${MAX_CLIENTS} clients`)
      return false
    }
    this.#clients.set(client, true)
    client.on('pong', () => this.#clients.has(client) && this.#clients.set(client, true))
    client.once('close', () => {
      this.#clients.delete(client)
      this.#usedAt = this.#clock.monotonic()
      left?.()
    })
    return true
  }

  /** Removes all clients. */
  clear(): void {
    this.#clients.clear()
  }

  /** Milliseconds without a client. */
  get unusedMs(): number {
    return this.size > 0 ? 0 : this.#clock.monotonic() - this.#usedAt
  }

  /** Pings the clients at intervals and disconnects those that did not respond. */
  probe(): void {
    const now = this.#clock.monotonic()
    if (now - this.#probedAt < PROBE_MS) return
    this.#probedAt = now
    for (const [client, alive] of this.#clients) {
      if (!alive) client.terminate()
      this.#clients.set(client, false)
      if (alive) client.ping()
    }
  }

  /** Closes all clients because the daemon stops; disconnects the remaining ones a little later. */
  closeAll(): void {
    for (const client of this.#clients.keys()) {
      client.close(GOING_AWAY, 'the daemon stops')
      setTimeout(() => client.terminate(), CLOSE_MS).unref()
    }
  }

  /** Closes all clients with a code of RFC 6455, 7.4. */
  close(code: number, reason: string): void {
    for (const client of this.#clients.keys()) client.close(code, reason)
  }
}
