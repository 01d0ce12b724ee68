import type { OriginPeer } from '../../http/origin-connection.js'
import type { RawHeaders } from '../../http/headers.js'
import type { UnreadHead } from '../../http/response-reader.js'
import type { CacheStatus } from '../cache/entries/types.js'
import type { UnreadFields } from './unread/unread-fields.js'

/** Facts about a request to an origin and its response. Times are on the clock's `monotonic` scale. */
export class OriginFacts {
  /** URL of the origin that the request was last meant for. Undefined if none was chosen. */
  url: string | undefined
  /** Origins that the request was meant for, one after the other. */
  tries = 0
  /** When a connection was first requested. Undefined if none was. */
  askedAt: number | undefined
  /** When the request was sent. Undefined if it was not. */
  sentAt: number | undefined
  /** The connection that the request was sent on. Undefined if it was not sent. */
  peer: OriginPeer | undefined
  /** When the response's head arrived. Undefined before that, or without a head. */
  respondedAt: number | undefined
  /** Status of the origin's own response; 0 without one. */
  status = 0
  #head: UnreadHead | undefined
  #headers: RawHeaders | undefined
  /** Bytes of the body as the origin sent them. */
  bytes = 0

  /** The response's fields as the origin sent them. Undefined before that. */
  get headers(): RawHeaders | undefined {
    return this.#headers ?? this.#head?.fields
  }

  set headers(fields: RawHeaders | undefined) {
    this.#headers = fields
  }

  /** Records the response's head, whose fields nothing has read. */
  received(head: UnreadHead): void {
    this.#head = head
    this.#headers = undefined
  }
}

/** One request to an origin, and the facts about it that the log record of its exchange contains. */
export interface OriginExchange {
  readonly method: string
  readonly target: string
  readonly headers: RawHeaders
  /** `headers`, if nothing has read the list. */
  readonly unread?: UnreadFields | undefined
  readonly clientShare: string | undefined
  /** The body, if it is sent instead of the body of the client. */
  readonly content?: Buffer | undefined
  readonly decisions: { readonly cache: { readonly read_timeout?: number } | undefined }
  /** Its status is added to the response as `cf-cache-status`, and in Cache-Status if the response could be cached. */
  readonly caching?: { readonly status: CacheStatus | undefined }
  readonly origin: OriginFacts
}

/** Error of a response that is no longer wanted, passed to its sinks. */
// Created once, because it is passed for every response, even without a listener.
export const CLIENT_LEFT = new Error('the client left')
