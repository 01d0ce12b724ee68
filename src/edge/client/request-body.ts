import { Readable } from 'node:stream'
import type { BodyReader, BodySource } from './client-stream.js'
import { HeldBytes, type MemoryBudget } from '../../core/memory/memory-budget.js'

/** The buffered beginning of a body. */
export interface Beginning {
  /** Returns a binary string of at most the requested number of bytes. */
  readonly bytes: string
  /** Bytes that have arrived. */
  readonly seen: number
  /** Whether this is the whole body. */
  readonly ended: boolean
}

/** A pending wait for the beginning of the body. */
interface Gate {
  /** Bytes to wait for. */
  readonly limit: number
  readonly memory: MemoryBudget
  /** The bytes are read as one text, so the whole body is copied into one buffer. */
  readonly asText: boolean
  /**
   * If the body arrives in small parts, does not wait for the whole body. Each part is sent before the next one
   * arrives.
   */
  readonly inParts: boolean
  readonly ready: () => void
}

/** Maximum delay of a body that arrives in parts, from its first byte. */
const PARTS_MS = 5000
/** The rate of a body is an average over this time. */
const RATE_MS = 10_000

/**
 * The body of a request, on its way to the origin. A reader may destroy it. The client's connection remains open then,
 * because a response still has to be written on it.
 */
export class RequestBody extends Readable implements BodyReader {
  readonly #source: BodySource
  readonly #begun: (arrived: boolean) => void
  /** The body is being read. */
  #wanted = false
  #gate: Gate | undefined
  /** Buffered bytes are read before those that arrive now: first `#held`, then `#waiting`. */
  #stored = false
  #held: HeldBytes | undefined
  /** Data that arrived before it was wanted, or after `#held`. This is at most one or two reads from the socket. */
  #waiting: Buffer[] = []
  #ended = false
  #paused = false
  /** Bytes that have arrived since `#since`, on the clock of {@link tooSlow}. */
  #arrived = 0
  #since: number | undefined

  /** `begun` is called when the first byte is wanted. `arrived` is true if a byte has already arrived. */
  constructor(source: BodySource, begun: (arrived: boolean) => void) {
    super({ highWaterMark: 65_536, emitClose: false })
    this.#source = source
    this.#begun = begun
    // The sender of the body listens too, but stops after the origin's response. Without this listener a later error
    // would end the process.
    this.on('error', () => undefined)
  }

  /**
   * Buffers the beginning of the body and calls `ready` with it, once: when more than `limit` bytes or the end have
   * arrived, or no memory is left. A later reader of this stream gets every byte. `ready` is not called if the client
   * leaves first. Must be called once, and before any read.
   */
  hold(limit: number, memory: MemoryBudget, ready: (beginning: Beginning) => void): void {
    const held = new HeldBytes(memory)
    this.#held = held
    const tell = () => {
      const seen = this.#waiting.reduce((sum, chunk) => sum + chunk.length, held.length)
      ready({ bytes: held.text(limit), seen, ended: this.#ended })
    }
    // One byte beyond the limit shows that there is more.
    this.#open({ limit: limit + 1, memory, asText: true, inParts: false, ready: tell })
  }

  /**
   * Calls `ready` when the body justifies a connection to the origin: `limit` bytes or its end have arrived. A body of
   * unknown length, or a longer one, may arrive in parts: then a few seconds after the first byte at the latest. If no
   * memory is left, the first bytes are enough.
   */
  whenBegun({ limit, length }: { limit: number; length: number }, memory: MemoryBudget, ready: () => void): void {
    if (this.#wanted) ready()
    else this.#open({ limit, memory, asText: false, inParts: length > limit, ready })
  }

  /** Discards the body. Does nothing if it is being read. */
  abandon(): void {
    if (this.#stored && !this.readableDidRead) this.destroy()
  }

  receive(chunk: Buffer): void {
    if (this.destroyed) return
    this.#arrived += chunk.length
    if (this.#gate !== undefined) this.#store(chunk, this.#gate)
    else if (this.#wanted && !this.#stored) this.#hand(chunk)
    else {
      this.#waiting.push(chunk)
      this.#pause()
    }
  }

  /** Ignores trailers, which are not forwarded. */
  finish(): void {
    if (this.destroyed) return
    this.#ended = true
    if (this.#gate !== undefined) this.#pass(this.#gate)
    else if (this.#wanted && !this.#stored) this.push(null)
  }

  lost(): void {
    if (!this.#ended) this.destroy(new Error('the client left'))
  }

  /** Returns whether the rest arrives slower than `rate` bytes per second. Must be called about once per second. */
  tooSlow(now: number, rate: number): boolean {
    const gate = this.#gate
    // Time in which no byte is wanted does not count.
    if (gate === undefined ? this.#paused || !this.#wanted || this.destroyed : this.#arrived === 0) {
      this.#since = undefined
      return false
    }
    this.#since ??= now
    const passed = now - this.#since
    if (gate !== undefined) {
      if (gate.inParts && passed >= PARTS_MS) this.#pass(gate)
      return false
    }
    if (passed < RATE_MS) return false
    const slow = this.#arrived < (rate * passed) / 1000
    this.#since = now
    this.#arrived = 0
    return slow
  }

  override _read(): void {
    if (this.#gate !== undefined) return
    if (!this.#wanted) this.#begin()
    else if (this.#drained()) this.#resume()
  }

  #open(gate: Gate): void {
    this.#gate = gate
    this.#stored = true
    this.#begin()
  }

  #begin(): void {
    const early = this.#waiting
    const ended = this.#ended
    this.#waiting = []
    this.#ended = false
    this.#arrived = 0
    this.#wanted = true
    this.#begun(early.length > 0)
    for (const chunk of early) this.receive(chunk)
    if (ended) this.finish()
    else if (this.#waiting.length === 0) this.#resume()
  }

  #hand(chunk: Buffer): void {
    if (!this.push(chunk)) this.#pause()
  }

  #store(chunk: Buffer, gate: Gate): void {
    const { limit, memory, asText } = gate
    if (asText || this.#held !== undefined || this.#waiting.length > 0) {
      const held = (this.#held ??= new HeldBytes(memory))
      const first = this.#waiting[0]
      if (first !== undefined && held.append(first)) this.#waiting = []
      // The rest of a read needs no copy and no count.
      const kept = chunk.subarray(0, Math.max(limit - held.length, 0))
      if (this.#waiting.length > 0 || !held.append(kept)) this.#waiting.push(chunk)
      else {
        if (kept.length < chunk.length) this.#waiting.push(chunk.subarray(kept.length))
        if (held.length < limit) return
      }
    } else {
      // A small body usually arrives in one piece, which needs no copy.
      this.#waiting.push(chunk)
      if (chunk.length < limit) return
    }
    this.#pause()
    this.#pass(gate)
  }

  #pass({ ready }: Gate): void {
    this.#gate = undefined
    this.#since = undefined
    this.#arrived = 0
    ready()
  }

  /** Passes on the buffered data. Returns false while more is buffered, or after the end. */
  #drained(): boolean {
    if (!this.#stored) return true
    for (let block = this.#held?.shift(); block !== undefined; block = this.#held?.shift()) {
      if (!this.push(block)) return false
    }
    for (let chunk = this.#waiting.shift(); chunk !== undefined; chunk = this.#waiting.shift()) {
      if (!this.push(chunk)) return false
    }
    this.#stored = false
    this.#held = undefined
    if (this.#ended) this.push(null)
    return !this.#ended
  }

  #pause(): void {
    this.#paused = true
    this.#source.pauseBody(this)
  }

  #resume(): void {
    this.#paused = false
    this.#source.resumeBody(this)
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    // Bytes that still arrive are handled by the code that closes the connection.
    this.#pause()
    this.#gate = undefined
    this.#stored = false
    this.#held?.release()
    this.#held = undefined
    this.#waiting = []
    callback(error)
  }
}

const NO_SOURCE: BodySource = { pauseBody: () => undefined, resumeBody: () => undefined }

/** Returns a body that has arrived. */
export function wholeBody(bytes: Buffer): RequestBody {
  const body = new RequestBody(NO_SOURCE, () => undefined)
  body.receive(bytes)
  body.finish()
  return body
}
