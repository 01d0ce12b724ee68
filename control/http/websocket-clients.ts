import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Clock } from '../../src/core/clock.js'

const MAX_CLIENTS = 10
const PROBE_MS = 30_000
/** Time that clients have to close after the close frame. */
const CLOSE_MS = 1000
/** Bytes that wait for a client; beyond it the client misses messages. */
const MAX_WAITING_BYTES = 2 ** 20

// RFC 6455, 7.4
const GOING_AWAY = 1001
const TRY_LATER = 1013

/** A text message, or a binary one for clients for which every text is a record. */
interface Notice {
  readonly text: string
  readonly binary: boolean
}

/** WebSocket clients of one source, ten at most. A client that reads too slowly misses messages and delays no other. */
export class LiveClients {
  /** Each client, and whether it has responded since the last ping. */
  readonly #clients = new Map<WebSocket, boolean>()
  /** Records that a client missed and does not know of yet. */
  readonly #missed = new WeakMap<WebSocket, number>()
  readonly #clock: Clock
  readonly #notice: ((missed: number) => Notice) | undefined
  #probedAt: number
  #usedAt: number

  /** `notice` creates the message that a client that missed records gets before the next records. */
  constructor(clock: Clock, notice?: (missed: number) => Notice) {
    this.#clock = clock
    this.#notice = notice
    this.#probedAt = clock.monotonic()
    this.#usedAt = clock.monotonic()
  }

  get size(): number {
    return this.#clients.size
  }

  /** Sends a text message to all clients. Returns how many get it, and how many miss it. */
  send(text: string | Uint8Array, records: number): { readonly sent: number; readonly missed: number } {
    let sent = 0
    for (const client of this.#clients.keys()) {
      if (client.readyState !== client.OPEN || client.bufferedAmount > MAX_WAITING_BYTES) this.#miss(client, records)
      else {
        this.#notify(client)
        client.send(text, { binary: false })
        sent += 1
      }
    }
    return { sent, missed: this.size - sent }
  }

  /** Counts records that all clients missed before they arrived here. */
  miss(records: number): void {
    for (const client of this.#clients.keys()) this.#miss(client, records)
  }

  /** Sends a message that is not about a record. */
  notify({ text, binary }: Notice): void {
    for (const client of this.#clients.keys()) if (client.readyState === client.OPEN) client.send(text, { binary })
  }

  /**
   * Adds a client; `left` is called when it disconnects. Beyond the limit, closes the client and returns false. `transport`:
   * its connection.
   */
  join(client: WebSocket, transport: Duplex, left?: () => void): boolean {
    client.on('error', () => client.terminate())
    if (this.size >= MAX_CLIENTS) {
      client.close(TRY_LATER, `at most ${MAX_CLIENTS} clients`)
      // Without waiting for its close frame: hundreds of clients could each keep a connection for that time.
      transport.end(() => transport.destroy())
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

  #miss(client: WebSocket, records: number): void {
    this.#missed.set(client, (this.#missed.get(client) ?? 0) + records)
  }

  #notify(client: WebSocket): void {
    const missed = this.#missed.get(client)
    if (missed === undefined) return
    this.#missed.delete(client)
    const notice = this.#notice?.(missed)
    if (notice) client.send(notice.text, { binary: notice.binary })
  }
}
