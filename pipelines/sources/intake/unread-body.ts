import type { IncomingMessage, ServerResponse } from 'node:http'

/** Time without a byte after which a client that still sends a rejected body is disconnected. */
const LINGER_MS = 5000
/** The rest of a body up to this size is read, so that the connection serves the next request. */
const MAX_DISCARDED = 8 * 1024 * 1024

/**
 * Returns whether a connection can serve another request after this one. Its body has arrived or is short enough to be
 * read to its end. Otherwise the response must have `Connection: close` and end with {@link afterRest}.
 */
export function isRestShort({ complete, headers }: IncomingMessage): boolean {
  return complete || (headers['transfer-encoding'] === undefined && declaredLength(headers) <= MAX_DISCARDED)
}

const declaredLength = (headers: IncomingMessage['headers']): number => Number(headers['content-length'] ?? 0)

/**
 * Discards the rest of a short body after its response has been sent. Closing the connection while the client still
 * sends would reset it, and the client would lose the response (RFC 9112, 9.6). A client that stops sending is
 * disconnected.
 */
export function discardRest(request: IncomingMessage, response: ServerResponse, lingerMs = LINGER_MS): void {
  response.once('finish', () => {
    const { socket } = request
    if (request.complete || socket.destroyed) return
    // Each byte proves that the client still sends. The declared length limits the number of bytes.
    const late = setTimeout(() => {
      // A request that arrived completely may not have emitted its end yet, and the connection may be at its next
      // request.
      if (!request.complete) socket.destroy()
    }, lingerMs)
    request.on('data', () => late.refresh())
    whenRead(request, () => clearTimeout(late))
  })
}

/** Discards the rest of a long body. Calls `end` when it has arrived, or its client has left or sends for too long. */
export function afterRest(request: IncomingMessage, end: () => void, lingerMs = LINGER_MS): void {
  const late = setTimeout(end, lingerMs)
  whenRead(request, () => {
    clearTimeout(late)
    end()
  })
}

/** Reads and discards a body. Calls `done` once, at the end of the body or of the connection. */
function whenRead(request: IncomingMessage, done: () => void): void {
  const { socket } = request
  const finish = () => {
    request.off('end', finish)
    socket.off('close', finish)
    done()
  }
  request.once('end', finish)
  socket.once('close', finish)
  // A reader that stopped at a limit has paused it. A decoder that nobody reads has paused it too.
  request.unpipe()
  // An iterator that stopped has left its listener, and with one the body does not flow.
  request.removeAllListeners('readable')
  request.resume()
}
