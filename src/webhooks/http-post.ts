import got, { RequestError, TimeoutError, type Got, type Response } from 'got'
import type { Clock } from '../core/clock.js'
import { responseText } from './response-text.js'
import { NotPublic, type GuardedAgents } from '../egress/egress.js'

/** Maximum bytes of a response body to read. The connection is closed after that. */
const MAX_READ_BYTES = 16 * 1024
/** Timeout of the connection, TLS included. */
const CONNECT_MS = 5000
/** Timeout of the response body after its head. The outcome is known by then. */
const BODY_MS = 2000

/**
 * Reason for a missing response. `internal` means that nothing was sent, for example because a secret cannot be
 * decrypted.
 */
export type PostError =
  'internal' | 'not public' | 'timed out' | 'connection refused' | 'connection reset' | 'TLS' | 'no connection'

/** Outcome of one request. */
export interface PostResult {
  /** 0 if there was no response. */
  readonly status: number
  readonly durationMs: number
  /** The first KiB of the body, as text. */
  readonly response: string
  readonly retryAfter: string | undefined
  readonly error: PostError | undefined
}

export interface Post {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Timeout of the whole exchange. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
}

/** Sends POSTs over the connections of one destination. */
export type Poster = (request: Post) => Promise<PostResult>

/**
 * Creates a poster, which never rejects. It follows no redirects, does not retry, uses no proxy and reads only the
 * beginning of a response.
 */
export function posterOver(agents: GuardedAgents): Poster {
  const base = got.extend({
    agent: { http: agents.http, https: agents.https },
    method: 'POST',
    followRedirect: false,
    throwHttpErrors: false,
    decompress: false,
    retry: { limit: 0 },
  })
  let client: Got = base
  let timeout = 0
  return async (request) => {
    // Options that requests share are prepared once.
    if (request.timeoutMs !== timeout) {
      timeout = request.timeoutMs
      const max = CONNECT_MS
      client = base.extend({ timeout: { request: timeout, lookup: max, connect: max, secureConnect: max } })
    }
    return await post(client, request)
  }
}

async function post(client: Got, { url, headers, body, timeoutMs, clock, signal }: Post): Promise<PostResult> {
  const started = clock.monotonic()
  const result = (status: number, response = '', retryAfter?: string, error?: PostError): PostResult => ({
    status,
    durationMs: Math.max(0, Math.round(clock.monotonic() - started)),
    response,
    retryAfter,
    error,
  })
  return await new Promise<PostResult>((resolve) => {
    const request = client.stream(url, { headers, body })
    const giveUp = () => request.destroy(new Error('given up'))
    signal?.addEventListener('abort', giveUp)
    let head: Response | undefined
    let read = 0
    const chunks: Buffer[] = []
    let slow: NodeJS.Timeout | undefined
    const over = () => {
      clearTimeout(slow)
      signal?.removeEventListener('abort', giveUp)
    }
    const responded = () => {
      over()
      const status = head?.statusCode ?? 0
      const made = result(status, '', head?.headers['retry-after'])
      void responseText(chunks, head?.headers['content-encoding']).then((response) => resolve({ ...made, response }))
    }
    const enough = () => {
      responded()
      request.destroy()
    }
    request.once('response', (response: Response) => {
      head = response
      slow = setTimeout(enough, Math.min(BODY_MS, timeoutMs))
      slow.unref()
    })
    request.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      read += chunk.length
      if (read >= MAX_READ_BYTES) enough()
    })
    request.once('end', responded)
    // There can be several errors, for example if a connection is reset while it is being closed.
    request.on('error', (error) => {
      if (head !== undefined) return responded()
      over()
      resolve(result(0, '', undefined, errorClass(error)))
    })
  })
}

/** Classifies an error without revealing anything about the private network. */
function errorClass(error: unknown): PostError {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof NotPublic) return 'not public'
    if (cause instanceof TimeoutError) return 'timed out'
  }
  const code = error instanceof RequestError ? error.code : ''
  if (code === 'ECONNREFUSED') return 'connection refused'
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'connection reset'
  return /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME)|CERT/.test(code)
    ? 'TLS'
    : 'no connection'
}
