/** A listener that takes records: 202 once they are safe on disk. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf } from '../../src/core/errors.js'
import { SpoolFull, type FrameWriter } from '../logpush/spool/types.js'
import { MalformedArray } from './array-lines.js'
import type { Input } from './input.js'
import { spoolInput, type TakingDeps } from './spool-input.js'
import { intakeRecords } from './record-intake.js'

export interface HttpOptions {
  /** `127.0.0.1:8600`; port 0 takes a free one. */
  readonly listen: string
  /** What senders give as a bearer; undefined: nobody is asked. */
  readonly token?: string | undefined
  /** Called with the URL, once it listens. */
  readonly listening: (url: string) => void
}

/** Requests that are taken at a time; more are told to come again. */
const CONCURRENCY = 16
/** Invalid records that an answer names. */
const MAX_REPORTED = 100
const REQUEST_MS = 300_000

interface Rejected {
  readonly line: number
  readonly message: string
}

/** Records that are posted, as NDJSON or JSON arrays, gzip allowed. Rejects where the address cannot be listened on. */
export async function httpInput(options: HttpOptions, deps: TakingDeps): Promise<Input> {
  const server = createServer({ requestTimeout: REQUEST_MS })
  const port = Number(options.listen.slice(options.listen.lastIndexOf(':') + 1))
  const host = options.listen.slice(0, options.listen.lastIndexOf(':')).replace(/^\[|\]$/g, '')
  // Whoever connects must be heard: the address is taken once there is something to take records.
  const input = await spoolInput(deps, {
    endless: true,
    async take(open, signal) {
      const underWay = new Set<Promise<void>>()
      server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const refused =
          refusal(request, options.token) ?? (underWay.size >= CONCURRENCY || signal.aborted ? BUSY : undefined)
        if (refused !== undefined) return result(response, ...refused)
        const work = taking(request, response, open(), deps)
        underWay.add(work)
        void work.finally(() => underWay.delete(work))
      })
      if (!signal.aborted) await once(signal, 'abort')
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      await Promise.all(underWay)
      // Answers are written by now; what is left open waits for nothing, or for a body that nobody reads.
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

const BUSY: Response = [429, { error: 'too much at once, come again' }, { 'retry-after': '1' }]

function refusal(request: IncomingMessage, token: string | undefined): Response | undefined {
  if (request.method !== 'POST') return [405, { error: 'records are posted' }, { allow: 'POST' }]
  const [scheme = '', given = ''] = (request.headers.authorization ?? '').split(' ')
  if (token === undefined || (scheme.toLowerCase() === 'bearer' && same(given, token))) return undefined
  return [401, { error: 'a token is asked for' }, { 'www-authenticate': 'Bearer' }]
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
const same = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))

/** What has been committed before something goes wrong stays: a sender that tries again may double it. */
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
    await intakeRecords(request, writer, { reject, commit: () => writer.commit(), taken })
    result(response, 202, { accepted: taken.read - invalid, rejected })
  } catch (error) {
    result(response, ...failure(error))
  } finally {
    stats.read += taken.read
  }
}

function failure(error: unknown): Response {
  if (error instanceof SpoolFull) return [429, { error: messageOf(error) }, { 'retry-after': '10' }]
  if (error instanceof MalformedArray || isZlib(error)) return [400, { error: messageOf(error) }]
  return [500, { error: 'the records could not be kept' }]
}

const isZlib = (error: unknown): boolean => (error as NodeJS.ErrnoException).code?.startsWith('Z_') ?? false

function result(response: ServerResponse, status: number, body: object, headers: object = {}): void {
  // What is left of a body that is not read would hold up the connection.
  const close = response.req.complete ? {} : { connection: 'close' }
  response.writeHead(status, { ...headers, ...close, 'content-type': 'application/json' })
  response.end(`${JSON.stringify(body)}\n`)
}
