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
  /** Time of the last strike. */
  last: number
  reason: string
}

/** Records of scripts whose last strike is older than this are deleted. */
const MEMORY_MS = 24 * 60 * 60_000

/** Stops scripts that were cut three times within five minutes, each time for longer, or until their next deployment. */
export class Quarantine {
  readonly #clock: Clock
  readonly #records = new Map<string, Record>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  strike(accountId: string, scripts: readonly string[], reason: string): void {
    const now = this.#clock.monotonic()
    for (const [key, { last }] of this.#records) if (now - last > MEMORY_MS) this.#records.delete(key)
    for (const script of scripts) {
      const key = `${accountId}/${script}`
      const record = this.#records.get(key) ?? { strikes: [], until: 0, lengthMs: FIRST_MS, last: now, reason }
      record.reason = reason
      record.last = now
      record.strikes = [...record.strikes.filter((at) => now - at < WINDOW_MS), now]
      if (record.strikes.length >= MAX_STRIKES) {
        record.strikes = []
        record.until = now + record.lengthMs
        record.lengthMs = Math.min(record.lengthMs * 5, MAX_MS)
      }
      this.#records.set(key, record)
    }
  }

  /** Other code of the script is deployed. If it is cut as often, it is stopped for longer than before. */
  release(accountId: string, script: string): void {
    const record = this.#records.get(`${accountId}/${script}`)
    if (!record) return
    record.strikes = []
    record.until = 0
  }

  holds(accountId: string, script: string): boolean {
    if (this.#records.size === 0) return false
    const record = this.#records.get(`${accountId}/${script}`)
    return record !== undefined && record.until > this.#clock.monotonic()
  }

  /** Returns a sentence for the owner of the script. Undefined if it is not stopped. */
  reason(accountId: string, script: string): string | undefined {
    const record = this.#records.get(`${accountId}/${script}`)
    if (!record || record.until <= this.#clock.monotonic()) return undefined
    const what = record.reason === 'memory' ? 'used too much memory' : 'did not return from a request'
    const seconds = Math.ceil((record.until - this.#clock.monotonic()) / 1000)
    return `the script ${what} ${MAX_STRIKES} times within 5 minutes; its requests get error 1102, its schedules are skipped and messages of its queues wait for another ${seconds} s, or until the next deployment`
  }
}
