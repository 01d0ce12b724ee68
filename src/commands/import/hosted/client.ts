import { messageOf } from '../../../core/errors.js'
import { Exit } from '../../common/command.js'

/** Pages of one list, and bytes of one response, that are read at most. */
const MAX_PAGES = 2000
const MAX_BYTES = 64 * 1024 * 1024
const TIMEOUT_MS = 30_000
/** Times that a rate limit is waited for. */
const MAX_WAITS = 5
const MAX_WAIT_S = 60

interface Reply {
  readonly success?: boolean
  readonly result?: unknown
  readonly errors?: readonly { readonly code?: number; readonly message?: string }[]
  readonly result_info?: { readonly total_pages?: number; readonly cursors?: { readonly after?: string } }
}

/** The error of the API instead of a result. */
export interface Denied {
  readonly status: number
  readonly reason: string
}

/** Returns whether a call has no result. */
export const isDenied = (value: unknown): value is Denied =>
  typeof value === 'object' &&
  value !== null &&
  'status' in value &&
  'reason' in value &&
  Object.keys(value).length === 2

/** Reads from the public v4 API. */
export class HostedApi {
  readonly #base: string
  readonly #token: string

  constructor(base: string, token: string) {
    this.#base = base.replace(/\/+$/, '')
    this.#token = token
  }

  /** Returns a result, or why there is none. Throws {@link Exit} without an answer of the API or with a wrong token. */
  async get(path: string): Promise<unknown> {
    const { reply, status } = await this.#read(path)
    return reply.success === true ? reply.result : { status, reason: reasonOf(reply, status) }
  }

  /** Returns all items of a list, page by page, or why there are none. */
  async list(path: string, perPage = 50): Promise<readonly unknown[] | Denied> {
    const items: unknown[] = []
    let cursor: string | undefined
    for (let page = 1; page <= MAX_PAGES; page++) {
      const place = cursor === undefined ? `page=${page}` : `cursor=${encodeURIComponent(cursor)}`
      const { reply, status } = await this.#read(`${path}${path.includes('?') ? '&' : '?'}per_page=${perPage}&${place}`)
      if (reply.success !== true || !Array.isArray(reply.result)) return { status, reason: reasonOf(reply, status) }
      items.push(...(reply.result as unknown[]))
      const { cursors, total_pages: pages = page } = reply.result_info ?? {}
      cursor = cursors?.after === '' ? undefined : cursors?.after
      if (cursor === undefined && (cursors !== undefined || page >= pages)) return items
    }
    return items
  }

  async #read(path: string): Promise<{ reply: Reply; status: number }> {
    for (let waits = 0; ; waits++) {
      const response = await this.#send(path)
      if (response.status === 429 && waits < MAX_WAITS) {
        await response.body?.cancel()
        const seconds = Math.min(MAX_WAIT_S, Number(response.headers.get('retry-after') ?? 1) || 1)
        await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
        continue
      }
      const reply = await this.#json(response)
      if (
        response.status === 401 ||
        reply.errors?.some(({ code }) => code === 10_000 || code === 9109 || code === 6003)
      )
        if (response.status === 401 || response.status === 400)
          throw new Exit(2, `the API rejects the token: ${reasonOf(reply, response.status)}`)
      return { reply, status: response.status }
    }
  }

  async #send(path: string): Promise<Response> {
    try {
      const headers = { authorization: `Bearer ${this.#token}`, accept: 'application/json' }
      // A redirect would send the token to another host.
      return await fetch(`${this.#base}${path}`, {
        headers,
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
    } catch (error) {
      const cause = (error as Error).cause
      throw new Exit(2, `no answer from ${this.#base}: ${messageOf(cause ?? error)}`)
    }
  }

  async #json(response: Response): Promise<Reply> {
    const chunks: Uint8Array[] = []
    let bytes = 0
    try {
      for await (const chunk of response.body ?? []) {
        bytes += (chunk as Uint8Array).length
        if (bytes > MAX_BYTES) throw new Error(`the response is larger than ${MAX_BYTES} bytes`)
        chunks.push(chunk as Uint8Array)
      }
      const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
      if (typeof value === 'object' && value !== null) return value
    } catch (error) {
      throw new Exit(
        2,
        `${this.#base} responded with ${response.status} and no JSON: ${messageOf(error)}; is --api-url the base of the API, as in https://api.cloudflare.com/client/v4?`,
      )
    }
    throw new Exit(2, `${this.#base} responded with ${response.status} and no object`)
  }
}

const reasonOf = ({ errors = [] }: Reply, status: number): string =>
  errors.length === 0
    ? `the API responded with ${status}`
    : errors.map(({ code, message }) => `${message ?? ''}${code === undefined ? '' : ` (${code})`}`.trim()).join('; ')
