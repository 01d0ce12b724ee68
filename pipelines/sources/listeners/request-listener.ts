/**
 * HTTP listener of a source. A bounded number of requests is read concurrently. The bodies of further requests wait
 * with their senders.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIPv6, type AddressInfo } from 'node:net'
import PQueue from 'p-queue'
import type { FrameWriter } from '../../logpush/spool/types.js'
import type { Input } from '../intake/input.js'
import { addressOf } from './listen-address.js'
import { spoolInput, type TakingDeps } from '../intake/spool-input.js'
import { afterRest } from '../intake/unread-body.js'

/** Requests that are read concurrently. */
const CONCURRENCY = 16
/** Maximum requests that wait to be read, while their bodies stay with the senders. Further requests get 429. */
const MAX_WAITING = 512
const REQUEST_MS = 300_000

/** Status, body and headers. The body is sent as JSON unless it is bytes. */
export type Reply = readonly [status: number, body: object, headers?: Readonly<Record<string, string>>]

export interface RequestListener {
  /** Address such as `127.0.0.1:8600`. Port 0 chooses a free port. */
  readonly listen: string
  /** Called with the URL, once it listens. */
  readonly listening: (url: string) => void
  /** Returns the response to a request that is not read, such as one without the token. */
  readonly reject: (request: IncomingMessage) => Reply | undefined
  /** Returns the response to a request while too many others wait. */
  readonly busy: (request: IncomingMessage) => Reply
  /** Reads a request. Resolves when its records are durable. */
  readonly read: (request: IncomingMessage, writer: FrameWriter) => Promise<Reply>
}

/** Listens, and responds to each request when its records are durable. Rejects if it cannot listen on the address. */
export async function requestInput(options: RequestListener, deps: TakingDeps): Promise<Input> {
  const server = createServer({ requestTimeout: REQUEST_MS })
  const { host, port } = addressOf(options.listen)
  // Listens only after the spool is open, so that every request can be read.
  const input = await spoolInput(deps, {
    endless: true,
    async take(open, signal) {
      const queue = new PQueue({ concurrency: CONCURRENCY })
      server.on('request', (request: IncomingMessage, response: ServerResponse) => {
        const busy = queue.size >= MAX_WAITING || signal.aborted
        const refused = options.reject(request) ?? (busy ? options.busy(request) : undefined)
        if (refused !== undefined) return respond(response, ...refused)
        void queue.add(async () => respond(response, ...(await options.read(request, open()))))
      })
      if (!signal.aborted) await once(signal, 'abort')
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      await queue.onIdle()
      // All responses are written. Remaining connections are idle, or send a body that nobody reads.
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
  options.listening(`http://${isIPv6(address) ? `[${address}]` : address}:${taken}/`)
  return input
}

function respond(response: ServerResponse, status: number, body: object, headers: object = {}): void {
  const { req: request } = response
  const bytes = body instanceof Uint8Array ? body : Buffer.from(`${JSON.stringify(body)}\n`)
  const close = request.complete ? {} : { connection: 'close' }
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': bytes.length,
    'x-content-type-options': 'nosniff',
    ...headers,
    ...close,
  })
  if (request.complete) return void response.end(bytes)
  // The end of the response closes the connection, which the client would see as a reset while it sends.
  response.write(bytes)
  afterRest(request, () => response.end())
}
