import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { errorPage } from '../error-page.js'
import type { HttpParseError } from './framing.js'

/** A client that was refused has this long to read why, while what it still sends is thrown away. */
const LINGER_MS = 2000

/**
 * Answers a request that is not served and ends the connection: what stands behind such a request on the connection
 * may be part of it, so nothing of it is looked at. To be called only where no answer has begun. Gives how many bytes
 * the answer has.
 */
export function refuse(
  socket: Socket,
  fault: HttpParseError,
  { rayId, at, accept, head = false }: { rayId: string; at: number; accept?: string | undefined; head?: boolean },
): number {
  let bytes = 0
  if (socket.writable) {
    const { headers, body } = errorPage(accept, { ...fault, rayId, at })
    let text = `HTTP/1.1 ${fault.status} ${STATUS_CODES[fault.status] ?? ''}\r\ndate: ${new Date(at).toUTCString()}\r\n`
    for (const [name, value] of Object.entries({ ...headers, ...fault.headers })) text += `${name}: ${value}\r\n`
    text += `cf-ray: ${rayId}\r\nconnection: close\r\n\r\n`
    socket.write(text, 'latin1')
    if (!head) socket.write(body)
    bytes = text.length + (head ? 0 : body.length)
  }
  linger(socket)
  return bytes
}

/**
 * Ends a connection on which the client may still be sending. Closing it at once would make the system answer the rest
 * with a reset, which can destroy the answer before the client has read it.
 */
export function linger(socket: Socket): void {
  socket.end()
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}
