import type { OriginRequest } from './origin-connection.js'

/** Maximum clients that are looked at to find one with many requests. */
const MAX_LOOKED_AT = 64

/** Requests that wait for a connection. There is one queue per client, served in rotation. */
export class RequestQueue {
  /** The next client to serve is first. Requests with the milliseconds that they have waited, oldest first. */
  readonly #byClient = new Map<string | undefined, Map<OriginRequest, number>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Returns how many requests of one client wait. */
  sizeOf(client: string | undefined): number {
    return this.#byClient.get(client)?.size ?? 0
  }

  add(request: OriginRequest): void {
    const queue = this.#byClient.get(request.client)
    if (queue) queue.set(request, 0)
    else this.#byClient.set(request.client, new Map([[request, 0]]))
    this.#size++
  }

  /** Removes a request. Returns false if it does not wait. */
  delete(request: OriginRequest): boolean {
    const queue = this.#byClient.get(request.client)
    if (!queue?.delete(request)) return false
    if (queue.size === 0) this.#byClient.delete(request.client)
    this.#size--
    return true
  }

  /** Removes and returns the oldest request of the next client that may start one, and puts that client last. */
  take(mayStart: (client: string | undefined) => boolean): OriginRequest | undefined {
    for (const [client, queue] of this.#byClient) {
      if (!mayStart(client)) continue
      const request = queue.keys().next().value!
      queue.delete(request)
      this.#size--
      this.#byClient.delete(client)
      if (queue.size > 0) this.#byClient.set(client, queue)
      return request
    }
    return undefined
  }

  /**
   * Removes and returns the oldest request of a client that has more requests than this client, to free a slot in a
   * full queue. Undefined if there is none.
   */
  shed(client: string | undefined): OriginRequest | undefined {
    let longest = { name: client, size: this.sizeOf(client) + 1 }
    let looked = 0
    for (const [name, { size }] of this.#byClient) {
      if (size > longest.size && name !== undefined) longest = { name, size }
      if (++looked === MAX_LOOKED_AT) break
    }
    if (longest.name === client) return undefined
    const request = this.#byClient.get(longest.name)!.keys().next().value!
    this.delete(request)
    return request
  }

  /** Returns how many requests wait whose clients may start one. */
  startable(mayStart: (client: string | undefined) => boolean): number {
    let count = 0
    for (const [client, queue] of this.#byClient) if (mayStart(client)) count += queue.size
    return count
  }

  /** Adds to the waiting times. Removes and returns the requests that have waited too long. */
  expired(ms: number, timeoutMs: number): OriginRequest[] {
    const late: OriginRequest[] = []
    for (const queue of this.#byClient.values())
      for (const [request, waited] of queue) {
        if (waited >= timeoutMs) late.push(request)
        else queue.set(request, waited + ms)
      }
    for (const request of late) this.delete(request)
    return late
  }

  /** Removes and returns all requests. */
  drain(): OriginRequest[] {
    const all = [...this.#byClient.values()].flatMap((queue) => [...queue.keys()])
    this.#byClient.clear()
    this.#size = 0
    return all
  }
}
