import type { IncomingMessage, ServerResponse } from 'node:http'

/** Time after an early response during which the rest of a body is read. */
const LINGER_MS = 5000

/**
 * Discards the rest of a body after its response has been sent. Closing the connection while the client still sends
 * would reset it, and the client would lose the response (RFC 9112, 9.6). A client that goes on longer is disconnected.
 */
export function discardRest(request: IncomingMessage, response: ServerResponse, lingerMs = LINGER_MS): void {
  response.once('finish', () => {
    const { socket } = request
    if (request.complete || socket.destroyed) return
    const done = () => {
      clearTimeout(late)
      request.off('end', done)
      socket.off('close', done)
    }
    const late = setTimeout(() => {
      done()
      // Not every request that arrived completely has emitted its end; the connection may be at its next request.
      if (!request.complete) socket.destroy()
    }, lingerMs)
    request.once('end', done)
    socket.once('close', done)
    // A reader that stopped at a limit has paused it; so has a decoder that nobody reads.
    request.unpipe()
    request.resume()
  })
}
