import type { ResponseSink } from '../exchange/response.js'
import { HeldBytes, type MemoryBudget } from '../../core/memory/memory-budget.js'

/** Maximum bytes of a response that are read ahead. */
export const READ_AHEAD_BYTES = 256 * 1024

/**
 * The rest of a response, read from the origin while the client is slow. So the connection to the origin is released
 * before the client has everything.
 */
export class ReadAhead {
  readonly #sink: ResponseSink
  readonly #bytes: HeldBytes
  /** Data that did not fit into the memory. This is at most one read from the origin. */
  readonly #rest: Buffer[] = []
  #ended = false

  constructor(sink: ResponseSink, memory: MemoryBudget) {
    this.#sink = sink
    this.#bytes = new HeldBytes(memory)
  }

  /** Buffers a copy. Returns false if no more may be sent until the client has read some. */
  data(chunk: Buffer): boolean {
    if (this.#rest.length === 0 && this.#bytes.append(chunk)) return this.#bytes.length < READ_AHEAD_BYTES
    this.#rest.push(Buffer.from(chunk))
    return false
  }

  /** Marks the end. Nothing follows the buffered data. */
  end(): void {
    this.#ended = true
  }

  /** Sends buffered data as far as the client reads it. Returns true if nothing is left. */
  flush(): boolean {
    for (let block = this.#next(); block !== undefined; block = this.#next()) {
      if (!this.#sink.data(block)) return false
    }
    if (this.#ended) this.#sink.end()
    return true
  }

  release(): void {
    this.#rest.length = 0
    this.#bytes.release()
  }

  #next(): Buffer | undefined {
    return this.#bytes.shift() ?? this.#rest.shift()
  }
}
