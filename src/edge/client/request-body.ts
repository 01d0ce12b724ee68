import { Readable } from 'node:stream'
import type { BodyReader } from './connection.js'
import { HeldBytes, type MemoryBudget } from '../../core/memory-budget.js'

/** Where a body comes from, as far as it can be told to wait. */
export interface BodySource {
  pauseBody(reader: BodyReader): void
  resumeBody(reader: BodyReader): void
}

/** The beginning of a body that is buffered. */
export interface Beginning {
  /** A byte string of at most as many bytes as were asked for. */
  readonly bytes: string
  /** Bytes that have arrived. */
  readonly seen: number
  /** That is the whole body. */
  readonly ended: boolean
}

/** Somebody waits for the beginning of the body. */
interface Gate {
  /** Bytes to wait for. */
  readonly limit: number
  readonly memory: MemoryBudget
  /** The bytes are read as one text, and so all of them are copied to one place. */
  readonly asText: boolean
  /** Not the whole body is waited for if it arrives in small parts: a part is to be sent on before the next one is there. */
  readonly inParts: boolean
  readonly ready: () => void
}

/** A body that arrives in parts is sent on after this time at the latest, from its first byte. */
const PARTS_MS = 5000
/** The rate at which a body arrives is an average over this time. */
const RATE_MS = 10_000

/**
 * The body of a request on its way to the origin. Whoever gets it may destroy it; the client's connection, on which a
 * response is still to be written, stays.
 */
export class RequestBody extends Readable implements BodyReader {
  readonly #source: BodySource
  readonly #begun: (arrived: boolean) => void
  /** Somebody wants it. */
  #wanted = false
  #gate: Gate | undefined
  /** Bytes are buffered that are read before those that arrive now: first `#held`, then `#waiting`. */
  #stored = false
  #held: HeldBytes | undefined
  /** What came before it was wanted, or behind what is held: no more than one or two reads from the socket. */
  #waiting: Buffer[] = []
  #ended = false
  #paused = false
  /** Bytes that have arrived since `#since`, on the clock of {@link tooSlow}. */
  #arrived = 0
  #since: number | undefined

  /** `begun` is called when the first byte is wanted; `arrived`: there is one already. */
  constructor(source: BodySource, begun: (arrived: boolean) => void) {
    super({ highWaterMark: 65_536, emitClose: false })
    this.#source = source
    this.#begun = begun
    // Who sends it listens too, but stops listening when the origin has answered, and then an error would end the process.
    this.on('error', () => undefined)
  }

  /**
   * Buffers the beginning of the body and calls `ready` with it, once: when more than `limit` bytes have arrived, or the
   * end, or no memory is left for more. Whoever reads this stream then gets every byte. Not called if the client leaves
   * first. To be called once, and before anybody reads.
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
   * Calls `ready` when the body is worth a connection to the origin: `limit` bytes of it have arrived, or its end. A body
   * of unknown length, or a longer one, may arrive in parts: then a few seconds after the first byte at the latest. If no
   * memory is left, the first bytes are enough.
   */
  whenBegun({ limit, length }: { limit: number; length: number }, memory: MemoryBudget, ready: () => void): void {
    if (this.#wanted) ready()
    else this.#open({ limit, memory, asText: false, inParts: length > limit, ready })
  }

  /** Nobody will read it. Does nothing if somebody does. */
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

  /** Trailers end here: what follows a body is not forwarded. */
  finish(): void {
    if (this.destroyed) return
    this.#ended = true
    if (this.#gate !== undefined) this.#pass(this.#gate)
    else if (this.#wanted && !this.#stored) this.push(null)
  }

  lost(): void {
    if (!this.#ended) this.destroy(new Error('the client left'))
  }

  /** Whether the rest arrives slower than `rate` bytes per second. To be called about once a second. */
  tooSlow(now: number, rate: number): boolean {
    const gate = this.#gate
    // Time in which nobody wants a byte does not count.
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
      // The rest of a read need not be copied and counted.
      const kept = chunk.subarray(0, Math.max(limit - held.length, 0))
      if (this.#waiting.length > 0 || !held.append(kept)) this.#waiting.push(chunk)
      else {
        if (kept.length < chunk.length) this.#waiting.push(chunk.subarray(kept.length))
        if (held.length < limit) return
      }
    } else {
      // A small body mostly arrives in one piece, which needs no copy.
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

  /** Hands on what is buffered; false while there is more of it, or after the end. */
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
    // What still arrives is for whoever closes the connection to deal with.
    this.#pause()
    this.#gate = undefined
    this.#stored = false
    this.#held?.release()
    this.#held = undefined
    this.#waiting = []
    callback(error)
  }
}
