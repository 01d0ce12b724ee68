import type { WebSocket } from 'ws'

const PROBE_MS = 30_000

/** The WebSockets that listen to one thing. */
export class LiveClients implements Iterable<WebSocket> {
  /** Each with whether it has answered since it was last asked. */
  readonly #clients = new Map<WebSocket, boolean>()
  #probedAt: number
  #usedAt: number

  constructor(now: number) {
    this.#probedAt = now
    this.#usedAt = now
  }

  get size(): number {
    return this.#clients.size
  }

  [Symbol.iterator](): Iterator<WebSocket> {
    return this.#clients.keys()
  }

  join(client: WebSocket): void {
    this.#clients.set(client, true)
    client.on('pong', () => this.#clients.has(client) && this.#clients.set(client, true))
  }

  leave(client: WebSocket, now: number): void {
    this.#clients.delete(client)
    this.#usedAt = now
  }

  /** Forgets all. */
  clear(): void {
    this.#clients.clear()
  }

  /** How long nobody has listened, in milliseconds. */
  unusedFor(now: number): number {
    return this.size > 0 ? 0 : now - this.#usedAt
  }

  /** Asks clients now and then whether they are still there, and lets go of those that did not answer. */
  probe(now: number): void {
    if (now - this.#probedAt < PROBE_MS) return
    this.#probedAt = now
    for (const [client, alive] of this.#clients) {
      if (!alive) client.terminate()
      this.#clients.set(client, false)
      if (alive) client.ping()
    }
  }

  /** Asks all to go, by a code of RFC 6455, 7.4. */
  close(code: number, reason: string): void {
    for (const client of this.#clients.keys()) client.close(code, reason)
  }
}
