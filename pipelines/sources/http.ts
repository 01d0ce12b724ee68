/** A listener for records. It responds with 202 once they are safe on disk. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import PQueue from 'p-queue'
import { messageOf } from '../../src/core/errors.js'
import { SpoolFull, type FrameWriter } from '../logpush/spool/types.js'
import { MalformedArray } from './array-lines.js'
import type { Input } from './input.js'
import { addressOf } from './listen-address.js'
import { spoolInput, type TakingDeps } from './spool-input.js'
import { CODINGS, decoded, UnknownCoding } from './content-coding.js'
import { NotGzip } from './ndjson.js'
import { intakeRecords } from './record-intake.js'

export interface HttpOptions {
  /** `127.0.0.1:8600`; port 0 takes a free one. */
  readonly listen: string
  /** Bearer token of senders. Undefined: none is required. */
  readonly token?: string | undefined
  /** Called with the URL, once it listens. */
  readonly listening: (url: string) => void
}

/** Requests that are read concurrently. */
const CONCURRENCY = 16
/** Requests that wait to be read, their bodies with their senders; further ones get 429. */
const MAX_WAITING = 512
/** Invalid records that a response lists. */
const MAX_REPORTED = 100
const REQUEST_MS = 300_000

interface Rejected {
  readonly line: number
  readonly message: string
}

/** Reads records from POST requests: NDJSON or JSON arrays, compressed or not. Rejects if it cannot listen on the address. */
export async function httpInput(options: HttpOptions, deps: TakingDeps): Promise<Input> {
  const server = createServer({ requestTimeout: REQUEST_MS })
  const { host, port } = addressOf(options.listen)
  // Listens only after the spool is open, so that every request can be read.
  const input = await spoolInput(deps, {
    endless: true,
    async take(open, signal) {
      const queue = new PQueue({ concurrency: CONCURRENCY })
      server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const refused =
          refusal(request, options.token) ?? (queue.size >= MAX_WAITING || signal.aborted ? BUSY : undefined)
        if (refused !== undefined) return respond(response, ...refused)
        void queue.add(async () => await taking(request, response, open(), deps))
      })
      if (!signal.aborted) await once(signal, 'abort')
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      await queue.onIdle()
      // All responses are written; the connections that are left are idle, or send a body that nobody reads.
      setImmediate(() => server.closeAllConnections())
      await closed
    },
  })
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    await input.close()
    throw error
  }
  const { address, port: taken } = server.address() as AddressInfo
  options.listening(`http://${address.includes(':') ? `[${address}]` : address}:${taken}/`)
  return input
}

type Response = readonly [status: number, body: object, headers?: Readonly<Record<string, string>>]

const BUSY: Response = [429, { error: 'too many requests wait; send this one again later' }, { 'retry-after': '1' }]

function refusal(request: IncomingMessage, token: string | undefined): Response | undefined {
  if (request.method !== 'POST') return [405, { error: 'use POST' }, { allow: 'POST' }]
  const [scheme = '', given = ''] = (request.headers.authorization ?? '').split(' ')
  if (token === undefined || (scheme.toLowerCase() === 'bearer' && same(given, token))) return undefined
  return [401, { error: 'needs the header Authorization: Bearer TOKEN' }, { 'www-authenticate': 'Bearer' }]
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
const same = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))

/** Records that were committed before an error stay: a sender that repeats the request may duplicate them. */
async function taking(
  request: IncomingMessage,
  response: ServerResponse,
  writer: FrameWriter,
  { stats }: TakingDeps,
): Promise<void> {
  const rejected: Rejected[] = []
  const taken = { read: 0 }
  let invalid = 0
  const reject = (line: number, message: string): void => {
    invalid++
    stats.reject(`request:${line}`, message)
    if (rejected.length < MAX_REPORTED) rejected.push({ line, message })
  }
  try {
    const body = decoded(request, request.headers['content-encoding'])
    await intakeRecords(body, writer, { reject, commit: () => writer.commit(), taken })
    respond(response, 202, { accepted: taken.read - invalid, rejected })
  } catch (error) {
    respond(response, ...failure(error))
  } finally {
    stats.read += taken.read
  }
}

function failure(error: unknown): Response {
  if (error instanceof SpoolFull) return [429, { error: messageOf(error) }, { 'retry-after': '10' }]
  // RFC 9110, 15.5.16: the response names the codings that are accepted.
  if (error instanceof UnknownCoding)
    return [415, { error: error.message }, { 'accept-encoding': [...CODINGS.keys()].join(', ') }]
  if (error instanceof MalformedArray || error instanceof NotGzip || isZlib(error))
    return [400, { error: messageOf(error) }]
  return [500, { error: 'the records could not be stored' }]
}

const isZlib = (error: unknown): boolean =>
  /^(Z_|ERR_BROTLI|ERR__ERROR|ZSTD_)/.test(String((error as NodeJS.ErrnoException).code))

function respond(response: ServerResponse, status: number, body: object, headers: object = {}): void {
  // The rest of a body that is not read would block the connection.
  const close = response.req.complete ? {} : { connection: 'close' }
  response.writeHead(status, { ...headers, ...close, 'content-type': 'application/json' })
  response.end(`${JSON.stringify(body)}\n`)
}
