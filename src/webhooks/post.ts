import got, { RequestError, TimeoutError, type Response } from 'got'
import type { Clock } from '../core/clock.js'
import { NotPublic, type GuardedAgents } from '../net/egress.js'

/** Of an answer's body, what is read at most; the connection ends there. */
const MOST_READ = 16 * 1024
/** Of an answer's body, what is kept. */
const KEPT = 1024
/** For the connection, TLS included. */
const CONNECT_MS = 5000
/** For the body of an answer, once its head is there: what it means is known by then. */
const BODY_MS = 2000

/** Why there was no answer; in the record of a try. `internal`: nothing was sent, such as for a secret that does not open. */
export type PostError =
  'internal' | 'not public' | 'timed out' | 'connection refused' | 'connection reset' | 'TLS' | 'no connection'

/** What came of one request. */
export interface Reply {
  /** 0: no answer. */
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
  readonly agents: GuardedAgents
  /** For all of it. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
}

/**
 * Sends one POST and gives what came back; never rejects. Redirects are not followed, nothing is tried twice, no proxy is
 * asked, and of the answer no more is read than is of use.
 */
export async function post({ url, headers, body, agents, timeoutMs, clock, signal }: Post): Promise<Reply> {
  const started = clock.monotonic()
  const reply = (status: number, response = '', retryAfter?: string, error?: PostError): Reply => ({
    status,
    durationMs: Math.max(0, Math.round(clock.monotonic() - started)),
    response,
    retryAfter,
    error,
  })
  return await new Promise<Reply>((resolve) => {
    const request = got.stream.post(url, {
      headers,
      body,
      agent: { http: agents.http, https: agents.https },
      followRedirect: false,
      throwHttpErrors: false,
      decompress: false,
      retry: { limit: 0 },
      timeout: { request: timeoutMs, lookup: CONNECT_MS, connect: CONNECT_MS, secureConnect: CONNECT_MS },
    })
    const giveUp = () => request.destroy(new Error('given up'))
    signal?.addEventListener('abort', giveUp)
    let head: Response | undefined
    let read = 0
    const kept: Buffer[] = []
    let slow: NodeJS.Timeout | undefined
    const over = () => {
      clearTimeout(slow)
      signal?.removeEventListener('abort', giveUp)
    }
    const answered = () => {
      over()
      const text = Buffer.concat(kept).subarray(0, KEPT).toString('utf8')
      resolve(reply(head?.statusCode ?? 0, text, head?.headers['retry-after']))
    }
    const enough = () => {
      answered()
      request.destroy()
    }
    request.once('response', (response: Response) => {
      head = response
      slow = setTimeout(enough, Math.min(BODY_MS, timeoutMs))
      slow.unref()
    })
    request.on('data', (chunk: Buffer) => {
      if (read < KEPT) kept.push(chunk.subarray(0, KEPT - read))
      read += chunk.length
      if (read >= MOST_READ) enough()
    })
    request.once('end', answered)
    // More than one may come, such as for a connection that is cut while it is being ended.
    request.on('error', (error) => {
      if (head !== undefined) return answered()
      over()
      resolve(reply(0, '', undefined, errorClass(error)))
    })
  })
}

/** What an error means, without anything in it that tells about the network inside. */
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
