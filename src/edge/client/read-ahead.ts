import type { ResponseSink } from '../response.js'
import { HeldBytes, type MemoryBudget } from '../../core/memory-budget.js'

/** The maximum of a response that is read ahead. */
export const READ_AHEAD_BYTES = 256 * 1024

/**
 * The rest of a response, read from the origin while the client is slow: the connection to the origin is free again
 * before the client has everything.
 */
export class ReadAhead {
  readonly #sink: ResponseSink
  readonly #bytes: HeldBytes
  /** What did not fit into the memory: no more than the origin sent in one piece. */
  readonly #rest: Buffer[] = []
  #ended = false

  constructor(sink: ResponseSink, memory: MemoryBudget) {
    this.#sink = sink
    this.#bytes = new HeldBytes(memory)
  }

  /** Buffers a copy; false: send no more until the client has taken some. */
  data(chunk: Buffer): boolean {
    if (this.#rest.length === 0 && this.#bytes.append(chunk)) return this.#bytes.length < READ_AHEAD_BYTES
    this.#rest.push(Buffer.from(chunk))
    return false
  }

  /** Nothing follows what is buffered. */
  end(): void {
    this.#ended = true
  }

  /** Sends what is buffered as far as the client takes it; true: nothing is left. */
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
