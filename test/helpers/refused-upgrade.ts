import { once } from 'node:events'
import { connect } from 'node:net'

/** Less than the 30 s for which a server waits for the close frame of a client. */
const LIMIT_MS = 10_000

/**
 * Requests a WebSocket and does not take part in its closing. Returns what the server sent before it disconnected; rejects
 * if it does not.
 */
export async function refusedUpgrade(url: string): Promise<string> {
  const { host, hostname, port, pathname } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString('latin1')))
  socket.on('error', () => undefined)
  socket.write(
    [
      `GET ${pathname} HTTP/1.1`,
      `Host: ${host}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
      '\r\n',
    ].join('\r\n'),
  )
  const signal = AbortSignal.timeout(LIMIT_MS)
  try {
    await once(socket, 'end', { signal })
    // A server that has closed the connection resets it when more arrives.
    while (!socket.closed) {
      signal.throwIfAborted()
      socket.write('x')
      await new Promise(setImmediate)
    }
    return text
  } finally {
    socket.destroy()
  }
}
