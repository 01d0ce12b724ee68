import type { Socket } from 'node:net'

/** Limits of a peer. */
export interface WriteLimits {
  /** Milliseconds; 0: no limit. */
  readonly write_timeout: number
  /** Bytes per second. */
  readonly min_rate: number
}

/** A peer that data is written to. */
export interface WriteTarget {
  /** Bytes that it has taken so far. */
  readonly takenBytes: number
}

/** Measures whether a peer reads the data written to it. Data that it sends does not count. */
export class WriteClock {
  readonly #target: WriteTarget
  #taken: number
  /** Time when it last read something. */
  #movedAt: number
  /** Start of the rate measurement, and the bytes read until then. */
  #since: number
  #takenThen: number

  /** Begins to measure. Create it when data waits to be read, and drop it when none does. */
  constructor(target: WriteTarget, now: number) {
    this.#target = target
    this.#taken = this.#takenThen = target.takenBytes
    this.#movedAt = this.#since = now
  }

  /** Returns whether the peer reads nothing, or too slowly. Must be called about once per second. */
  isLate(now: number, { write_timeout, min_rate }: WriteLimits): boolean {
    if (write_timeout === 0) return false
    const taken = this.#target.takenBytes
    if (taken !== this.#taken) {
      this.#taken = taken
      this.#movedAt = now
    }
    if (now - this.#movedAt > write_timeout) return true
    // The system accepts bytes in blocks of up to a megabyte. A shorter time does not show the rate of the client.
    const passed = now - this.#since
    if (passed < write_timeout) return false
    const slow = taken - this.#takenThen < (min_rate * passed) / 1000
    this.#since = now
    this.#takenThen = taken
    return slow
  }
}

/**
 * Returns the bytes that the system has accepted, including the accepted bytes of unfinished writes. Node reads the
 * same members for its timeouts.
 */
export function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { _handle: { bytesWritten: number; writeQueueSize: number } | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : socket.bytesWritten
}
