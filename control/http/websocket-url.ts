import type { IncomingMessage } from 'node:http'

/**
 * Where the sender of a request reaches this listener with a WebSocket, as far as the request tells: `ws://host:port`. It is
 * told to this sender alone.
 */
export function socketAddress({ headers, socket }: IncomingMessage): string {
  const { host = '', 'x-forwarded-proto': proto } = headers
  const { localAddress = '127.0.0.1', localPort } = socket
  const own = `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
  const scheme = proto === 'https' ? 'wss' : 'ws'
  return `${scheme}://${/^[\w.:[\]-]+$/.test(host) ? host : own}`
}
