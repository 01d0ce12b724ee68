import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import got, { RequestError } from 'got'
import type { BatchBody } from '../../src/core/sink.js'
import { MAX_IN_FLIGHT, SinkError, type SinkResponse } from '../../src/core/sink.js'
import type { GuardedAgents } from '../../src/egress/egress.js'
import { VERSION } from '../../src/release/package.js'
import { failureOf, unreachable } from '../contract/failure.js'
import type { SinkDeps } from '../contract/sink-type.js'
import { retryAfterMs } from './retry-after.js'

/** A response with the beginning of its body. */
export interface Response {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Whether `text` is the whole body. */
  readonly complete: boolean
}

/** Returns whether a response confirms that the destination has the data. */
export const isSuccess = ({ status }: Response): boolean => status >= 200 && status <= 299

export interface Post {
  /** POST by default. */
  readonly method?: 'POST' | 'PUT'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | Pick<BatchBody, 'length' | 'read'>
  /** Bytes of the response that are read; 16 KiB by default. */
  readonly maxResponse?: number
}

/**
 * Timeouts in milliseconds. The caller limits the whole attempt. `response` is the time from the end of the request to
 * the response.
 */
const TIMEOUTS = { lookup: 10_000, connect: 10_000, secureConnect: 10_000, response: 60_000, socket: 60_000 }

/**
 * Sends batches by HTTP over its own pool of kept connections. Every connection passes the guard. Redirects are not
 * followed.
 */
export class HttpClient {
  readonly #agents: GuardedAgents
  readonly #deps: SinkDeps

  constructor(deps: SinkDeps, { verify = true }: { verify?: boolean } = {}) {
    this.#deps = deps
    this.#agents = deps.egress.agents({ maxSockets: MAX_IN_FLIGHT, rejectUnauthorized: verify })
  }

  /**
   * Resolves with the response if it is a 2xx. Rejects with a SinkError for any other response, or with the signal's
   * reason.
   */
  async post(what: Post, signal: AbortSignal): Promise<Response> {
    const result = await this.request(what, signal)
    if (!isSuccess(result)) throw this.failure(what.url, result)
    return result
  }

  /** Resolves with any response. Rejects with a SinkError without one, or with the signal's reason. */
  async request(
    { method = 'POST', url, headers, body, maxResponse = 16_384 }: Post,
    signal: AbortSignal,
  ): Promise<Response> {
    signal.throwIfAborted()
    const stream = got.stream(url, {
      method,
      agent: { http: this.#agents.http, https: this.#agents.https },
      headers: { 'user-agent': `edged/${VERSION}`, ...headers, 'content-length': String(body.length) },
      body: body instanceof Uint8Array ? Buffer.from(body) : Readable.from(body.read(), { objectMode: false }),
      timeout: TIMEOUTS,
      retry: { limit: 0 },
      followRedirect: false,
      throwHttpErrors: false,
      decompress: false,
      signal,
    })
    try {
      const [response] = (await once(stream, 'response')) as [IncomingMessage]
      // An upload may still break while the response is read. The response decides.
      stream.on('error', () => {})
      const { statusCode: status = 0, headers: responded } = response
      return { status, headers: responded, ...(await beginning(stream, maxResponse)) }
    } catch (error) {
      signal.throwIfAborted()
      throw unreachable(url.host, plainError(error))
    } finally {
      stream.destroy()
    }
  }

  /** Returns the failure for a response that is not a success. */
  failure({ host }: URL, { status, headers, text }: Omit<Response, 'complete'>): SinkError {
    const wait = retryAfterMs(headers['retry-after'], this.#deps.clock)
    const more = status >= 300 && status < 400 ? ', and redirects are not followed' : ''
    const message = `${host} responded with ${status}${more}`
    const response = responseOf({ status, headers, text })
    return new SinkError(failureOf(status), message, { response, ...(wait !== undefined && { retryAfterMs: wait }) })
  }

  close(): void {
    this.#agents.destroy()
  }
}

/** Characters of a body that are shown to the owner of a job. */
const MAX_SHOWN = 1000

/** Returns a response with the beginning of its body, if the body is not compressed. */
export const responseOf = ({ status, headers, text }: Omit<Response, 'complete'>): SinkResponse => ({
  status,
  body: (headers['content-encoding'] ?? 'identity') === 'identity' ? text.slice(0, MAX_SHOWN) : '',
})

async function beginning(stream: AsyncIterable<unknown>, max: number): Promise<Pick<Response, 'text' | 'complete'>> {
  const pieces: Buffer[] = []
  let bytes = 0
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      pieces.push(piece)
      bytes += piece.length
      if (bytes > max) break
    }
  } catch {
    return { text: textOf(pieces, max), complete: false }
  }
  return { text: textOf(pieces, max), complete: bytes <= max }
}

const textOf = (pieces: readonly Buffer[], max: number): string =>
  Buffer.concat(pieces).subarray(0, max).toString('utf8')

/** Returns a cause without the error of `got`, because errors of `got` contain the whole request, including headers. */
function plainError(error: unknown): unknown {
  if (!(error instanceof RequestError)) return error
  return error.cause instanceof Error ? error.cause : Object.assign(new Error(error.name), { code: error.code })
}
