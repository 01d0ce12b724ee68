import type { Duplex } from 'node:stream'
import { fieldLines } from '../response-fields.js'
import type { RawHeaders } from '../../http/headers.js'
import type { ClientResponse } from './client-response.js'
import type { Exchange } from '../exchange.js'
import { linger } from './refusal.js'
import type { RequestFields } from '../request-fields.js'
import type { ProxyContext } from '../proxy-context.js'

/** A peer that vanished without a word is noticed after this and some probes. */
const PROBE_AFTER_MS = 60_000

/** Whether the request asks for a WebSocket (RFC 6455, 4.1). */
export function asksForWebSocket(method: string, httpVersion: string, fields: RequestFields): boolean {
  return (
    method === 'GET' &&
    httpVersion === '1.1' &&
    fields.upgrade?.toLowerCase() === 'websocket' &&
    fields.connection.split(',').some((option) => option.trim() === 'upgrade')
  )
}

/** Tells the client that the origin agreed, then carries bytes both ways until one side ends. */
export function openTunnel(
  client: ClientResponse,
  exchange: Exchange,
  { metrics, config }: ProxyContext,
  response: { status: number; fields: RawHeaders; origin: Duplex },
): void {
  const { status, fields, origin } = response
  const { socket } = client.connection
  // Before anything may fail: an error without a listener would end the process.
  origin.on('error', () => socket.destroy())
  const lines = fieldLines(fields)
  client.switched(status, fields)
  client.cancel = () => origin.destroy()
  metrics.tunnels++
  const head = `HTTP/1.1 ${status} Switching Protocols\r\n${lines}connection: Upgrade\r\nupgrade: websocket\r\ncf-ray: ${exchange.rayId}\r\n\r\n`
  socket.write(head, 'latin1')
  exchange.sentBytes = head.length
  socket.setTimeout(0)
  socket.setKeepAlive(true, PROBE_AFTER_MS)

  client.connection.tunnel((chunk) => {
    if (!origin.write(chunk)) socket.pause()
  })
  origin.on('drain', () => socket.resume())
  origin.on('data', (chunk: Buffer) => {
    exchange.bytes += chunk.length
    exchange.sentBytes += chunk.length
    if (!socket.write(chunk)) origin.pause()
  })
  socket.on('drain', () => origin.resume())
  socket.on('end', () => origin.end())
  origin.on('end', () => socket.end())
  origin.on('close', () => {
    // It gets what is on its way, as long as it takes something now and then, before it is asked to hang up.
    socket.setTimeout(config.limits.write_timeout)
    socket.end(() => linger(socket))
  })
  socket.on('close', () => {
    metrics.tunnels--
    origin.destroy()
  })
}
