import type { Variant } from './entry.js'

/** What the cache did for a request, as `cf-cache-status` has it. */
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
  /** Whether a query string is part of the key. `without`: responses to requests with one are not stored. */
  readonly query: 'key' | 'ignore' | 'without'
  readonly sortQuery: boolean
  /** Minimum `max-age` of cached responses for clients, in seconds; 0: as the origin says. */
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
  /** Forgets what was recorded. */
  drop(): void
}

/** Creates the pipeline that derives a representation. It calls `done` once; undefined: the representation is not usable. */
export type Derive = (recorder: VariantRecorder, done: (variant: Variant | undefined) => void) => BodySink

/** The stored response that an exchange gets: for stages that derive a representation from it. */
export interface CachedResponse {
  /** The client caused the request to the origin: bytes pass as they arrive. The others read what is stored. */
  readonly isFirst: boolean
  /** The body was cut off while it was received. */
  readonly failure: { readonly error: unknown } | undefined
  /** Name of the representation that the next stages get; empty: the stored bytes. */
  form: string
  variant(name: string): Variant | undefined
  /** Starts to record a representation while it is sent. */
  record(name: string): VariantRecorder
  /** Derives a representation once for all requests that wait for it. */
  derive(name: string, open: Derive, done: (variant: Variant | undefined) => void): void
  /** Set before `head` returns. `skip`: the body is not needed, only its end. `hold`: not even that. */
  body: 'send' | 'skip' | 'hold'
  /** Sends the body after all. */
  sendBody(): void
}
