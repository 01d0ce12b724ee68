import type { Clock } from '../../core/clock.js'

const WINDOW_MS = 5 * 60_000
const MAX_STRIKES = 3
const FIRST_MS = 60_000
const MAX_MS = 60 * 60_000

interface Record {
  /** Times of strikes on the clock's `monotonic` scale. */
  strikes: number[]
  until: number
  lengthMs: number
  reason: string
}

/** Stops scripts that were cut three times within five minutes, each time for longer. */
export class Quarantine {
  readonly #clock: Clock
  readonly #records = new Map<string, Record>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  strike(accountId: string, scripts: readonly string[], reason: string): void {
    const now = this.#clock.monotonic()
    for (const script of scripts) {
      const key = `${accountId}/${script}`
      const record = this.#records.get(key) ?? { strikes: [], until: 0, lengthMs: FIRST_MS, reason }
      record.reason = reason
      record.strikes = [...record.strikes.filter((at) => now - at < WINDOW_MS), now]
      if (record.strikes.length >= MAX_STRIKES) {
        record.strikes = []
        record.until = now + record.lengthMs
        record.lengthMs = Math.min(record.lengthMs * 5, MAX_MS)
      }
      this.#records.set(key, record)
    }
  }

  holds(accountId: string, script: string): boolean {
    if (this.#records.size === 0) return false
    const record = this.#records.get(`${accountId}/${script}`)
    return record !== undefined && record.until > this.#clock.monotonic()
  }

  /** A sentence for the owner of the script. Undefined if it is not stopped. */
  reason(accountId: string, script: string): string | undefined {
    const record = this.#records.get(`${accountId}/${script}`)
    if (!record || record.until <= this.#clock.monotonic()) return undefined
    const what = record.reason === 'memory' ? 'used too much memory' : 'did not return from a request'
    const seconds = Math.ceil((record.until - this.#clock.monotonic()) / 1000)
    return `the script ${what} ${MAX_STRIKES} times within 5 minutes; its requests get error 1102 for another ${seconds} s`
  }
}
