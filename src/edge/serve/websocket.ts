import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { LARGE_READ_BYTES, type TurnQueue } from '../../core/schedule/turn-queue.js'
import { InvalidResponse } from '../../http/origin-errors.js'
import { fieldLines } from '../exchange/response-fields.js'
import type { ClientResponse } from './client-response.js'
import type { Exchange } from '../exchange/exchange.js'
import { headerOf, headerValues, type RawHeaders } from '../../http/headers.js'
import { linger } from '../client/refusal.js'
import type { RequestFields } from './request-fields.js'
import type { ProxyContext } from './proxy-context.js'
import { takenBytes, WriteClock, type WriteLimits } from '../client/write-clock.js'

/** Idle time before probes that detect a peer that vanished silently. */
const PROBE_AFTER_MS = 60_000
/** Maximum time between the end of one side and the end of the other. */
const CLOSE_MS = 2000
/** RFC 6455, 1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Returns whether the request asks for a WebSocket (RFC 6455, 4.1). */
export function asksForWebSocket(exchange: Exchange, fields: RequestFields): boolean {
  return (
    fields.upgrade?.toLowerCase() === 'websocket' &&
    exchange.method === 'GET' &&
    exchange.httpVersion === '1.1' &&
    hasToken(fields.connection, 'upgrade') &&
    headerOf(exchange.headers, 'sec-websocket-key') !== undefined
  )
}

/**
 * Sends the origin's agreement to the client, then copies bytes both ways until one side ends. Throws InvalidResponse
 * if the origin agreed to something else: its bytes could be the response to another request.
 */
export function openTunnel(
  client: ClientResponse,
  exchange: Exchange,
  { metrics, turns }: ProxyContext,
  response: { status: number; fields: RawHeaders; origin: Duplex },
): void {
  const { status, fields, origin } = response
  const { socket } = client.connection
  // Before anything can fail: an error without a listener would end the process.
  origin.on('error', () => socket.destroy())
  checkAgreement(exchange)
  const lines = fieldLines(fields)
  client.switched(status, fields)
  client.cancel = () => origin.destroy()
  client.tunnel = new TunnelClock(origin as Socket)
  metrics.tunnels++
  const head = `HTTP/1.1 ${status} Switching Protocols\r\n${lines}connection: Upgrade\r\nupgrade: websocket\r\ncf-ray: ${exchange.rayId}\r\n\r\n`
  socket.write(head, 'latin1')
  exchange.sent.bytes = head.length
  socket.setKeepAlive(true, PROBE_AFTER_MS)

  const toOrigin = new TunnelFlow(socket, origin, turns)
  const toClient = new TunnelFlow(origin, socket, turns)
  client.connection.tunnel?.((chunk) => toOrigin.send(chunk))
  origin.on('data', (chunk: Buffer) => {
    exchange.sent.bodyBytes += chunk.length
    exchange.sent.bytes += chunk.length
    toClient.send(chunk)
  })
  let closing: NodeJS.Timeout | undefined
  socket.on('end', () => {
    origin.end()
    // The client has left, or it waits for the origin to close too.
    closing = setTimeout(() => origin.destroy(), CLOSE_MS)
  })
  origin.on('end', () => socket.end())
  origin.on('close', () => {
    clearTimeout(closing)
    // The client gets its buffered data, as long as it reads, before its connection is ended.
    socket.end(() => linger(socket))
  })
  socket.on('close', () => {
    metrics.tunnels--
    origin.destroy()
    toOrigin.end()
    toClient.end()
  })
}

/** One direction of a tunnel: reads no more than the other side accepts, and in turns with other connections. */
class TunnelFlow {
  readonly #from: Duplex
  readonly #to: Duplex
  readonly #turns: TurnQueue
  #blocked = false
  #yielding = false

  constructor(from: Duplex, to: Duplex, turns: TurnQueue) {
    this.#from = from
    this.#to = to
    this.#turns = turns
    to.on('drain', () => {
      this.#blocked = false
      this.#readOn()
    })
  }

  send(chunk: Buffer): void {
    if (!this.#to.write(chunk)) this.#blocked = true
    else if (chunk.length >= LARGE_READ_BYTES && !this.#turns.spend(1)) {
      this.#yielding = true
      this.#turns.add(this.#turn)
    } else return
    this.#from.pause()
  }

  end(): void {
    this.#turns.delete(this.#turn)
  }

  readonly #turn = (): void => {
    this.#yielding = false
    this.#readOn()
  }

  #readOn(): void {
    if (!this.#blocked && !this.#yielding) this.#from.resume()
  }
}

/** Ends a tunnel whose origin reads nothing: its client may have left unnoticed. */
class TunnelClock {
  readonly #origin: Socket
  #clock: WriteClock | undefined

  constructor(origin: Socket) {
    this.#origin = origin
  }

  get takenBytes(): number {
    return takenBytes(this.#origin)
  }

  check(now: number, limits: WriteLimits): void {
    if (this.#origin.writableLength === 0) this.#clock = undefined
    else {
      this.#clock ??= new WriteClock(this, now)
      if (this.#clock.isLate(now, limits)) this.#origin.destroy()
    }
  }
}

/** Returns whether a response agrees to open this WebSocket (RFC 6455, 4.1). */
function checkAgreement({ headers, origin: { headers: originHeaders = [] } }: Exchange): void {
  const upgrade = headerValues(originHeaders, 'upgrade')
  if (upgrade.length !== 1 || upgrade[0]!.toLowerCase() !== 'websocket')
    throw new InvalidResponse('the origin switched to another protocol than the one asked for')
  if (!headerValues(originHeaders, 'connection').some((value) => hasToken(value.toLowerCase(), 'upgrade')))
    throw new InvalidResponse('the origin switched protocols without "connection: upgrade"')
  const key = headerOf(headers, 'sec-websocket-key') ?? ''
  const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64')
  const given = headerValues(originHeaders, 'sec-websocket-accept')
  if (given.length !== 1 || given[0] !== accept)
    throw new InvalidResponse('sec-websocket-accept of the origin does not fit sec-websocket-key')
}

const hasToken = (value: string, token: string): boolean => value.split(',').some((option) => option.trim() === token)
