import { once } from 'node:events'
import { chmod, unlink } from 'node:fs/promises'
import type { Server } from 'node:http'
import { messageOf } from '../core/errors.js'
import { connect, isIPv6, type AddressInfo, type Server as NetServer } from 'node:net'

/** A listening server and its address. */
export interface Listening {
  /** `http://127.0.0.1:8080`, without a slash at the end; `unix:/path` for a unix socket. */
  readonly url: string
  close(): Promise<void>
}

/** Parses `127.0.0.1:8080` or `[::1]:8080` into host and port. */
export function hostAndPort(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) }
}

const UNIX = 'unix:'
/** A unix socket is for its owner and group. */
const SOCKET_MODE = 0o660
/** `sun_path` of Linux without its end. */
const MAX_PATH_BYTES = 107

/** Returns the path of `unix:/path`. Undefined for an address with a port. */
export const socketPath = (address: string): string | undefined =>
  address.startsWith(UNIX) ? address.slice(UNIX.length) : undefined

/** Returns the base URL of a listening server. */
function urlOf(server: Server): string {
  const bound = server.address() as AddressInfo | string
  if (typeof bound === 'string') return `${UNIX}${bound}`
  const { address, port } = bound
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`
}

/** The proxy's listeners without and with TLS. */
export type ListenerName = 'proxy' | 'proxy_tls'

/** The option with the address of each listener. */
const OPTIONS = {
  proxy: 'proxy.listen',
  proxy_tls: 'proxy.tls.listen',
  control: 'control.listen',
  admin: 'admin.listen',
  machines: 'machines.listen',
} as const satisfies Readonly<Record<ListenerName | 'control' | 'admin' | 'machines', string>>
type AnyListener = keyof typeof OPTIONS

/** Makes a server listen on an address. Rejects if that is not possible. */
export type Bind = (server: NetServer, address: string, name: ListenerName) => Promise<void>

/** Makes a server listen on a socket that is bound to `address` already. */
export async function listenOn(server: NetServer, socket: unknown, address: string, name: ListenerName): Promise<void> {
  server.listen(socket)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new Error(listenFailure(address, error, name), { cause: error })
  }
}

/**
 * Makes a server listen on `host:port` or `unix:/path`. Rejects with a sentence that names the option of the listener,
 * the address and what to do.
 */
export async function bind(server: NetServer, address: string, name?: AnyListener): Promise<void> {
  const path = socketPath(address)
  try {
    if (path === undefined) {
      const { host, port } = hostAndPort(address)
      server.listen(port, host)
    } else {
      // A longer path would be cut off silently.
      if (Buffer.byteLength(path) > MAX_PATH_BYTES)
        throw new Error(`${address} is too long: choose a path of at most ${MAX_PATH_BYTES} bytes`)
      await removeStale(path)
      server.listen(path)
    }
    await once(server, 'listening')
  } catch (error) {
    throw new Error(listenFailure(address, error, name), { cause: error })
  }
  if (path !== undefined) await chmod(path, SOCKET_MODE)
}

/** Starts to listen on `host:port`. Returns a function that stops. Rejects as {@link bind} does. */
export async function listen(server: Server, address: string, name: AnyListener): Promise<Listening> {
  await bind(server, address, name)
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

/** Deletes a socket file that a process left behind when it was killed. A socket that responds stays. */
async function removeStale(path: string): Promise<void> {
  const found = await new Promise<string>((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve('in use')
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
  })
  if (found === 'ECONNREFUSED') await unlink(path)
}

/**
 * Returns a sentence with the reason why an address cannot be used. `name` is the listener, whose option the sentence
 * names.
 */
export function listenFailure(address: string, error: unknown, name?: AnyListener): string {
  const option = name && OPTIONS[name]
  const what = option === undefined ? address : `${option}: ${address}`
  const advice = (to: string) => (option === undefined ? `choose ${to}` : `set ${option} to ${to}`)
  const code = (error as NodeJS.ErrnoException).code
  const isPath = socketPath(address) !== undefined
  if (code === 'EADDRINUSE')
    return `${what} is already in use; stop the other process or ${advice(isPath ? 'another path' : 'another port')}`
  if (isPath && (code === 'EACCES' || code === 'ENOENT'))
    return `${what}: its folder does not exist or this user cannot write to it; create it or ${advice('another path')}`
  if (code === 'EACCES') return `${what} cannot be used by this user; ${advice('a port above 1023')}`
  if (code === 'EADDRNOTAVAIL')
    return `${what} is not an address of this machine; ${advice('one of its addresses, or 0.0.0.0 for all')}`
  if (code === undefined) return option === undefined ? messageOf(error) : `${option}: ${messageOf(error)}`
  return `${what}: cannot listen: ${code}`
}
