import { kind } from '../core/store.js'

/** That a webhook has been failing. Scope and id: the webhook's; there is no record while all is well. */
export interface WebhookHealth {
  /** RFC 3339. */
  readonly failing_since: string
  /** For how long, counted while a daemon ran: neither a clock that jumps nor a night without power counts. */
  readonly failing_ms: number
}

export const WEBHOOK_HEALTH = kind<WebhookHealth>('webhook_health')

/** The time since the last success of one webhook. Times are of a monotonic clock. */
export class Health {
  #failingMs: number
  #failing: boolean
  #lastFailure: number | undefined
  #savedMs: number
  readonly #mostStep: number

  /** `mostStep`: what lies between two failures counts up to this, so that quiet weeks do not. */
  constructor(stored: WebhookHealth | undefined, mostStep: number) {
    this.#failing = stored !== undefined
    this.#failingMs = this.#savedMs = stored?.failing_ms ?? 0
    this.#mostStep = mostStep
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
    if (this.#lastFailure !== undefined) this.#failingMs += Math.min(now - this.#lastFailure, this.#mostStep)
    this.#lastFailure = now
    this.#failing = true
  }

  /** Whether what is stored is so old that it is worth a write. */
  needsSaving(everyMs: number): boolean {
    return this.#failing && (this.#savedMs === 0 || this.#failingMs - this.#savedMs >= everyMs)
  }

  saved(): void {
    this.#savedMs = Math.max(1, this.#failingMs)
  }
}
