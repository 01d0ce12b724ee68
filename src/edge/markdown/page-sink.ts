import type { Conversion } from '../exchange/conversion.js'
import type { ResponseSink } from '../exchange/response.js'
import type { RawHeaders } from '../../http/headers.js'
import type { MemoryBudget } from '../../core/memory/memory-budget.js'

import type { TurnQueue } from '../../core/schedule/turn-queue.js'

/** Converts one page to Markdown, chunk by chunk. */
export interface PageConverter {
  /**
   * Returns the Markdown that is final so far, often less than the HTML so far would produce. Retains no bytes. Throws
   * NotConvertible.
   */
  write(html: Uint8Array): string
  /** Returns the rest. Throws NotConvertible. */
  end(): string
}

/** Outcome of a page requested in Markdown. All but the first three were sent as HTML. */
export const OUTCOMES = [
  'converted',
  'streamed',
  'cached',
  'too_large',
  'undecodable',
  'malformed',
  'no_memory',
  'internal_error',
] as const
export type Outcome = (typeof OUTCOMES)[number]

export const SENT_AS_MARKDOWN: ReadonlySet<Outcome> = new Set(['converted', 'streamed', 'cached'])

/** Records the outcome of a page. `bytes` is the length of the Markdown if it is known. */
export type ReportOutcome = (outcome: Outcome, bytes?: number) => void

/** Dependencies of a page in conversion. */
export interface PageContext {
  readonly status: number
  readonly headers: RawHeaders
  readonly next: ResponseSink
  readonly memory: MemoryBudget
  readonly converter: (contentType: string) => PageConverter
  /** Content-Signal of the Markdown if the origin sets none. */
  readonly signal: string | undefined
  /** Whether fields may follow the body of the response. */
  readonly trailers: boolean
  /** Schedules work outside of calls of the sink. */
  readonly turns: TurnQueue
  /** The facts of the conversion, which the page adds to. */
  readonly conversion: Conversion
  /** Reports a bug of the conversion. */
  readonly reportBug: (error: unknown) => void
  /** Called when more data is accepted after `data` returned false. Harmless at other times. */
  readonly resume: () => void
  /** Called once, when the outcome of the page is known, before the head of the response. */
  readonly reportOutcome: ReportOutcome
}

/** Receives the body of one page, and sends head and body of the response to the next sink. */
export interface PageSink {
  /** The page retains no chunk of `data`, so its memory may change afterwards. */
  readonly copies: boolean
  /** Returns false if no more data may be sent until `resume` is called. */
  data(chunk: Buffer): boolean
  end(): void
  /** Continues, because the next sink accepts data again. */
  drained(): void
  /** Releases all resources. Sends nothing afterwards. */
  release(): void
}
