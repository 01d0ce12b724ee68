import type { IncomingMessage } from 'node:http'

/**
 * Returns the WebSocket URL at which the sender of a request reaches this listener, derived from the request:
 * `ws://host:port`. It is returned only to this sender.
 */
export const socketAddress = (request: IncomingMessage): string => ownUrl(request).replace(/^http/, 'ws')

/** Returns the base URL at which the sender of a request reaches this listener: `http://host:port`. */
export function ownUrl({ headers, socket }: IncomingMessage): string {
  const { host = '', 'x-forwarded-proto': proto } = headers
  const { localAddress = '127.0.0.1', localPort } = socket
  const own = `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
  const scheme = proto === 'https' ? 'https' : 'http'
  return `${scheme}://${/^[\w.:[\]-]+$/.test(host) ? host : own}`
}
