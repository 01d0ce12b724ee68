import { once } from 'node:events'
import {
  createServer as createPlain,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
} from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { SERVER_TLS } from './tls.js'

/** A request as received, with its content coding decoded. */
export interface Received {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as received. */
  readonly body: Buffer
}

export interface ReceiverResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A failure: a response, a connection that breaks within the body, or no response at all. */
export type Fault = ReceiverResponse | 'reset' | 'hang'

export interface HttpReceiver {
  readonly server: Server
  readonly port: number
  /** `receiver.test:PORT`. */
  readonly host: string
  /** Requests that got a 2xx response without failure, in order. */
  readonly accepted: Received[]
  /** Sets the failure of all further requests. */
  fault: Fault | undefined
  /** Number of requests that failed. */
  failed: number
  /** Connections that are open now. */
  readonly connections: () => number
}

/**
 * Starts an HTTP server, by default with TLS. `answer` returns the response to a request. A body whose framing or
 * coding is invalid gets 400.
 */
export async function httpReceiver(
  t: Test,
  {
    tls = true,
    response: result = () => ({ status: 200 }),
  }: { tls?: boolean; response?: (request: Received) => ReceiverResponse } = {},
): Promise<HttpReceiver> {
  const open = new Set<Socket>()
  const listener: RequestListener = (request, response) => {
    const { fault } = receiver
    if (fault !== undefined) receiver.failed++
    if (fault === 'reset') return void request.once('data', () => request.socket.destroy())
    void read(request).then((received) => {
      if (fault === 'hang') return undefined
      const chosen = fault ?? (received === undefined ? { status: 400 } : result(received))
      if (received !== undefined && fault === undefined && chosen.status < 300) receiver.accepted.push(received)
      return response.writeHead(chosen.status, { ...chosen.headers }).end(chosen.body)
    })
  }
  const server = tls ? createSecure(SERVER_TLS, listener) : createPlain(listener)
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('error', () => {}).on('close', () => open.delete(socket))
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const receiver: HttpReceiver = {
    server,
    port,
    host: `receiver.test:${port}`,
    accepted: [],
    fault: undefined,
    failed: 0,
    connections: () => open.size,
  }
  return receiver
}

async function read(request: IncomingMessage): Promise<Received | undefined> {
  try {
    const body = Buffer.concat((await request.toArray()) as Buffer[])
    const { method = '', url: target = '', headers } = request
    if (Number(headers['content-length']) !== body.length) return undefined
    const text = (headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8')
    return { method, target, headers, text, body }
  } catch {
    return undefined
  }
}
