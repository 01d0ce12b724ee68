import type { Log } from '../../core/log.js'
import type { ResponseSink } from '../response.js'
import type { RawHeaders } from '../../http/headers.js'
import type { MemoryBudget } from '../../core/memory-budget.js'

import type { TurnQueue } from './turn-queue.js'

/** Turns one page into Markdown, piece by piece. */
export interface PageConverter {
  /** Markdown that is certain by now, often less than the HTML so far amounts to. Throws NotConvertible. */
  write(html: Uint8Array): string
  /** The rest. Throws NotConvertible. */
  end(): string
}

/** What became of a page that was asked for in Markdown. All but the first two went out as HTML. */
export const OUTCOMES = [
  'converted',
  'streamed',
  'too_large',
  'undecodable',
  'malformed',
  'no_memory',
  'internal_error',
] as const
export type Outcome = (typeof OUTCOMES)[number]

/** What a page in the making needs from around it. */
export interface PageContext {
  readonly status: number
  readonly headers: RawHeaders
  readonly next: ResponseSink
  readonly memory: MemoryBudget
  readonly converter: (contentType: string) => PageConverter
  /** When work may be done that no call of the sink asks for. */
  readonly turns: TurnQueue
  readonly log: Log
  /** Called when more is welcome after `data` said false; harmless at other times. */
  readonly resume: () => void
  /** Called once, when it is certain what becomes of the page. */
  readonly settle: (outcome: Outcome) => void
}

/** Takes the body of one page, and sends head and body of the answer to the next sink. */
export interface PageSink {
  /** False: no more until `resume` is called. */
  data(chunk: Buffer): boolean
  end(): void
  /** The next sink takes data again. */
  drained(): void
  /** Lets go of everything; nothing is sent from now on. */
  release(): void
}
