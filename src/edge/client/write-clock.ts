import type { Socket } from 'node:net'

/** What a peer has to keep to. */
export interface WriteLimits {
  /** Milliseconds; 0: no limit. */
  readonly write_timeout: number
  /** Bytes per second. */
  readonly min_rate: number
}

/** Measures whether a peer takes what is written to it. What it sends does not count. */
export class WriteClock {
  readonly #socket: Socket
  #taken: number
  /** When it last took something. */
  #movedAt: number
  /** Since when its rate is measured, and what it had taken then. */
  #since: number
  #takenThen: number

  /** Begins to measure. To be created when something waits to be taken, and dropped when nothing does. */
  constructor(socket: Socket, now: number) {
    this.#socket = socket
    this.#taken = this.#takenThen = takenBytes(socket)
    this.#movedAt = this.#since = now
  }

  /** Whether it takes nothing, or too little. To be called about once a second. */
  isLate(now: number, { write_timeout, min_rate }: WriteLimits): boolean {
    if (write_timeout === 0) return false
    const taken = takenBytes(this.#socket)
    if (taken !== this.#taken) {
      this.#taken = taken
      this.#movedAt = now
    }
    if (now - this.#movedAt > write_timeout) return true
    // The system takes bytes in lumps of up to a megabyte. Less time says nothing about the rate of the client.
    const passed = now - this.#since
    if (passed < write_timeout) return false
    const slow = taken - this.#takenThen < (min_rate * passed) / 1000
    this.#since = now
    this.#takenThen = taken
    return slow
  }
}

/** Bytes that the system has taken, those of unfinished writes too. Node itself reads these members for its timeouts. */
function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { _handle: { bytesWritten: number; writeQueueSize: number } | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : socket.bytesWritten
}
