import type { Variant } from './entry.js'

/** Outcomes of the cache for a request, as the values of `cf-cache-status`. */
export const CACHE_STATUSES = [
  'HIT',
  'MISS',
  'EXPIRED',
  'STALE',
  'UPDATING',
  'REVALIDATED',
  'BYPASS',
  'DYNAMIC',
] as const
export type CacheStatus = (typeof CACHE_STATUSES)[number]

/** Cache settings of a zone. */
export interface CacheOptions {
  readonly mode: 'off' | 'default' | 'everything'
  /**
   * Whether a query string is part of the key. With `without`, responses to requests with a query string are not
   * stored.
   */
  readonly query: 'key' | 'ignore' | 'without'
  readonly sortQuery: boolean
  /** Minimum `max-age` of cached responses for clients, in seconds. With 0 the value of the origin stays. */
  readonly browserTtl: number
  /** Development mode is on until this time in milliseconds since 1970. */
  readonly developmentUntil: number
  /** Use stale responses while the origin fails. */
  readonly alwaysOnline: boolean
}

/** Receives the bytes of a stored response. */
export interface BodySink {
  /** Returns false if no more may be sent until the listener of `onDrain` is called. */
  data(chunk: Buffer): boolean
  end(): void
  fail(error: unknown): void
  onDrain(listener: () => void): void
}

/** Records a representation that is derived from a stored response. Its bytes are charged to the cache. */
export interface VariantRecorder {
  /** Appends a copy of the bytes. */
  append(chunk: Uint8Array): void
  /** Attaches the representation to its response. Returns undefined if it did not fit into memory. */
  commit(facts?: string): Variant | undefined
  /** Discards the recorded bytes. */
  drop(): void
}

/**
 * Creates the pipeline that derives a representation. It calls `done` once, with undefined if the representation is not
 * usable.
 */
export type Derive = (recorder: VariantRecorder, done: (variant: Variant | undefined) => void) => BodySink

/** The stored response of an exchange, for stages that derive a representation from it. */
export interface CachedResponse {
  /**
   * This client caused the request to the origin and gets the bytes as they arrive. Other clients read the stored
   * bytes.
   */
  readonly isFirst: boolean
  /** The body was cut off while it was received. */
  readonly failure: { readonly error: unknown } | undefined
  /** Name of the representation that the next stages get. Empty for the stored bytes. */
  form: string
  variant(name: string): Variant | undefined
  /** Starts to record a representation while it is sent. */
  record(name: string): VariantRecorder
  /** Derives a representation once for all requests that wait for it. */
  derive(name: string, open: Derive, done: (variant: Variant | undefined) => void): void
  /** Set before `head` returns. With `skip` only the end of the body is needed. With `hold` not even the end is needed. */
  body: 'send' | 'skip' | 'hold'
  /** Sends the body after all. */
  sendBody(): void
}
