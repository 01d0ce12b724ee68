import got, { TimeoutError } from 'got'
import { NotPublic, type Egress } from './egress.js'

export interface FetchOptions {
  /** Maximum bytes after the content coding is decoded. */
  readonly maxBytes: number
  /** Timeout of the whole exchange. */
  readonly timeoutMs: number
  readonly userAgent: string
  /** Default: HTML, or anything else. */
  readonly accept?: string
}

export interface FetchedPage {
  readonly status: number
  /** The value of `content-type`. Empty without one. */
  readonly type: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bytes: Buffer
}

/** The page was not fetched. The message has the reason, and reveals nothing about the private network. */
class NotFetched extends Error {
  override readonly name = 'NotFetched'
}

/**
 * Gets a page with any status through the guarded egress. Follows no redirect and reports it as an error. Throws an
 * error whose message the user may read.
 */
export async function fetchPage(egress: Pick<Egress, 'agents'>, url: URL, options: FetchOptions): Promise<FetchedPage> {
  const page = await fetchResponse(egress, url, options)
  if (page.status >= 300 && page.status < 400)
    throw new NotFetched(`the server responded with ${page.status}; redirects are not followed, name the final URL`)
  return page
}

/** Gets a response with any status, redirects included. Throws as {@link fetchPage} does. */
export async function fetchResponse(
  egress: Pick<Egress, 'agents'>,
  url: URL,
  { maxBytes, timeoutMs, userAgent, accept = 'text/html, */*;q=0.8' }: FetchOptions,
): Promise<FetchedPage> {
  const agents = egress.agents({ maxSockets: 1 })
  try {
    const request = got.stream(url, {
      agent: { http: agents.http, https: agents.https },
      headers: { 'user-agent': userAgent, accept },
      followRedirect: false,
      throwHttpErrors: false,
      retry: { limit: 0 },
      timeout: { request: timeoutMs },
    })
    let head: Pick<FetchedPage, 'status' | 'type' | 'headers'> = { status: 0, type: '', headers: {} }
    request.once('response', ({ statusCode, headers }: { statusCode: number; headers: Record<string, string> }) => {
      head = { status: statusCode, type: headers['content-type'] ?? '', headers }
    })
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) throw new NotFetched(`the page is larger than ${maxBytes} bytes`)
      chunks.push(chunk)
    }
    return { ...head, bytes: Buffer.concat(chunks) }
  } catch (error) {
    throw error instanceof NotFetched ? error : new NotFetched(reasonOf(error), { cause: error })
  } finally {
    agents.destroy()
  }
}

function reasonOf(error: unknown): string {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof NotPublic) return cause.message
    if (cause instanceof TimeoutError) return 'the server did not send the page in time'
  }
  return 'the page could not be fetched: no connection, an invalid certificate, or a broken response'
}
