import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { errorPage } from '../exchange/error-page.js'
import type { Refusal } from './client-stream.js'
import type { HttpParseError } from './framing.js'

/** Time for a rejected client to read the reason, while data that it still sends is discarded. */
const LINGER_MS = 2000

/**
 * Responds to a request that is not served and ends the connection. Bytes after such a request may belong to the
 * request, so none are parsed. Must be called only if no response has begun. Returns the length of the response in
 * bytes.
 */
export function reject(socket: Socket, issue: HttpParseError, { accept, head = false, ...facts }: Refusal): number {
  let bytes = 0
  if (socket.writable) {
    const { headers, body } = errorPage(accept, { ...issue, ...facts })
    let text = `HTTP/1.1 ${issue.status} ${STATUS_CODES[issue.status] ?? ''}\r\ndate: ${new Date(facts.at).toUTCString()}\r\n`
    for (const [name, value] of Object.entries({ ...headers, ...issue.headers })) text += `${name}: ${value}\r\n`
    text += `cf-ray: ${facts.rayId}\r\nconnection: close\r\n\r\n`
    socket.write(text, 'latin1')
    if (!head) socket.write(body)
    bytes = text.length + (head ? 0 : body.length)
  }
  linger(socket)
  return bytes
}

/**
 * Ends a connection on which the client may still be sending. If it were closed immediately, the system would respond
 * to the rest with a reset, which can destroy the response before the client has read it.
 */
export function linger(socket: Socket): void {
  socket.end()
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}
