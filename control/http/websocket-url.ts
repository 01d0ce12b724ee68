import type { IncomingMessage } from 'node:http'

/**
 * Returns the WebSocket URL at which the sender of a request reaches this listener, derived from the request:
 * `ws://host:port`. It is returned only to this sender.
 */
export function socketAddress({ headers, socket }: IncomingMessage): string {
  const { host = '', 'x-forwarded-proto': proto } = headers
  const { localAddress = '127.0.0.1', localPort } = socket
  const own = `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
  const scheme = proto === 'https' ? 'wss' : 'ws'
  return `${scheme}://${/^[\w.:[\]-]+$/.test(host) ? host : own}`
}
