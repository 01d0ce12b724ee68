import { once } from 'node:events'
import type { Server } from 'node:http'
import { isIPv6, type AddressInfo, type Server as NetServer } from 'node:net'

/** A listening server and its address. */
export interface Listening {
  /** `http://127.0.0.1:8080`, without a slash at the end. */
  readonly url: string
  close(): Promise<void>
}

/** Parses `127.0.0.1:8080` or `[::1]:8080` into host and port. */
export function hostAndPort(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) }
}

/** Returns the base URL of a listening server. */
function urlOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`
}

/** The proxy's listeners: without and with TLS. */
export type ListenerName = 'proxy' | 'proxy_tls'

/** Makes a server listen on an address. Rejects if that is not possible. */
export type Bind = (server: NetServer, address: string, name: ListenerName) => Promise<void>

/** Makes a server listen on `host:port`. Rejects with a sentence that names the address and what to do. */
export async function bind(server: NetServer, address: string): Promise<void> {
  const { host, port } = hostAndPort(address)
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new Error(listenFailure(address, error), { cause: error })
  }
}

/** Starts to listen on `host:port`. Returns a function that stops; rejects as {@link bind} does. */
export async function listen(server: Server, address: string): Promise<Listening> {
  await bind(server, address)
  return {
    url: urlOf(server),
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function listenFailure(address: string, error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'EADDRINUSE') return `${address} is in use already; stop what listens there, or choose another port`
  if (code === 'EACCES') return `${address} may not be used by this user; choose a port above 1023`
  if (code === 'EADDRNOTAVAIL') return `${address} is no address of this machine`
  return `cannot listen on ${address}: ${code ?? String(error)}`
}
