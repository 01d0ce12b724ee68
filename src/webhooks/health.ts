import { kind } from '../core/store.js'

/** Record of a failing webhook. Has the scope and id of the webhook. Removed after a success. */
export interface WebhookHealth {
  /** RFC 3339. */
  readonly failing_since: string
  /** Failing time in milliseconds while a daemon ran. Clock jumps and downtime do not count. */
  readonly failing_ms: number
}

export const WEBHOOK_HEALTH = kind<WebhookHealth>('webhook_health')

/** Time since the last success of one webhook. Times are of a monotonic clock. */
export class Health {
  #failingMs: number
  #failing: boolean
  #lastFailure: number | undefined
  #savedMs: number
  readonly #maxStep: number

  /** `maxStep` is the maximum time that counts between two failures, so that idle weeks do not count. */
  constructor(stored: WebhookHealth | undefined, maxStep: number) {
    this.#failing = stored !== undefined
    this.#failingMs = this.#savedMs = stored?.failing_ms ?? 0
    this.#maxStep = maxStep
  }

  get failingMs(): number {
    return this.#failingMs
  }

  get isFailing(): boolean {
    return this.#failing
  }

  succeeded(): void {
    this.#failing = false
    this.#failingMs = this.#savedMs = 0
    this.#lastFailure = undefined
  }

  failed(now: number): void {
    if (this.#lastFailure !== undefined) this.#failingMs += Math.min(now - this.#lastFailure, this.#maxStep)
    this.#lastFailure = now
    this.#failing = true
  }

  /** Returns whether the stored time is outdated enough for a write. */
  needsSaving(everyMs: number): boolean {
    return this.#failing && (this.#savedMs === 0 || this.#failingMs - this.#savedMs >= everyMs)
  }

  saved(): void {
    this.#savedMs = Math.max(1, this.#failingMs)
  }
}
