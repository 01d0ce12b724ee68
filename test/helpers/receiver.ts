import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { SERVER_TLS } from './tls.js'

/** A request that a receiver got. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly at: number
}

export type Responding = (request: Received, response: ServerResponse, raw: IncomingMessage) => void

/** A receiver of webhooks on 127.0.0.1 with a certificate for `receiver.test`. */
export class Receiver {
  readonly server: Server
  readonly received: Received[] = []
  readonly sockets = new Set<Socket>()
  response: Responding

  private constructor(server: Server, result: Responding) {
    this.server = server
    this.response = result
  }

  /** By default it responds with 204. */
  static async start(result: Responding = (_, response) => void response.writeHead(204).end()): Promise<Receiver> {
    const server = createServer({ ...SERVER_TLS, keepAliveTimeout: 60_000 })
    const receiver = new Receiver(server, result)
    server.on('request', (request, response) => {
      receiver.#take(request, response).catch(() => response.destroy())
    })
    server.on('secureConnection', (socket: Socket) => {
      receiver.sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => receiver.sockets.delete(socket))
    })
    server.on('tlsClientError', () => undefined)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return receiver
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = '', headers } = request
    const got = { path, headers, body: await text(request), at: performance.now() }
    this.received.push(got)
    this.response(got, response, request)
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  url(path = '/hook'): string {
    return `https://receiver.test:${this.port}${path}`
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    await new Promise((resolve) => this.server.close(resolve))
  }
}
