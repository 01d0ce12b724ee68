/**
 * Time over which the pace of a client is measured. Not shorter, because a socket accepts data again when the system
 * has sent a part of its buffer, so a client that reads steadily at 1 MB/s lets bytes through every 1.5 s only.
 */
const WINDOW_MS = 2500
/** Bytes per second. */
const SLOW_RATE = 32 * 1024

/**
 * Measures how fast the client of a request lets its connection to the origin progress while it sends a body or reads a
 * response. A client that takes hours for a few megabytes is harmless until others need the connection.
 */
export class ClientPace {
  /** Bytes per second in the last full window. Infinite before the first one has ended. */
  rate = Infinity
  #since = 0
  #ms = 0

  /** Begins to measure at this count of bytes. */
  begin(bytes: number): void {
    this.rate = Infinity
    this.#since = bytes
    this.#ms = 0
  }

  /** Must be called repeatedly, with the milliseconds since the last call and the count of bytes. */
  tick(ms: number, bytes: number): void {
    this.#ms += ms
    if (this.#ms < WINDOW_MS) return
    this.rate = ((bytes - this.#since) * 1000) / this.#ms
    this.#since = bytes
    this.#ms = 0
  }

  get isSlow(): boolean {
    return this.rate < SLOW_RATE
  }
}
