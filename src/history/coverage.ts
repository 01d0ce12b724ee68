import type { CellStore } from './cell-store.js'
import { CELL_MS } from './layout.js'

/** A time in which requests were counted, in milliseconds since 1970. */
export interface Span {
  readonly from: number
  readonly to: number
}

const PREFIX = 'up/'
const DIGITS = 15
/** A daemon that starts within this time after the end of the last one leaves no gap. */
const MAX_GAP_MS = 2 * CELL_MS
/** Spans that are kept, the newest ones. */
const MAX_SPANS = 2000

const nameOf = (from: number): string => PREFIX + String(from).padStart(DIGITS, '0')

/** When the daemon ran: without it a time without requests and one without a daemon would look the same. */
export class Coverage {
  readonly #store: CellStore
  readonly #spans: Span[]

  private constructor(store: CellStore, spans: Span[]) {
    this.#store = store
    this.#spans = spans
  }

  static async open(store: CellStore, now: number): Promise<Coverage> {
    const all = (await store.numbers(PREFIX)).map(([from, to]) => ({ from: Number(from), to }))
    for (const { from } of all.slice(0, -MAX_SPANS)) await store.deleteNumber(nameOf(from))
    const spans = all.slice(-MAX_SPANS)
    const last = spans.at(-1)
    if (last === undefined || now < last.from || now - last.to > MAX_GAP_MS) spans.push({ from: now, to: now })
    return new Coverage(store, spans)
  }

  /** Stores that the daemon runs until now. */
  async reached(now: number): Promise<void> {
    const { from, to } = this.#spans.pop()!
    this.#spans.push({ from, to: Math.max(to, now) })
    await this.#store.putNumber(nameOf(from), Math.max(to, now))
  }

  /** Returns the spans within a time, as far as they reach until now. */
  between(from: number, to: number, now: number): readonly Span[] {
    const last = this.#spans.length - 1
    return this.#spans
      .map((span, index) => (index === last ? { ...span, to: Math.max(span.to, now) } : span))
      .filter((span) => span.from < to && span.to > from)
      .map((span) => ({ from: Math.max(from, span.from), to: Math.min(to, span.to) }))
  }
}
