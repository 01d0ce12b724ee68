import type { SendHandle } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import * as net from 'node:net'
import { getSystemErrorName } from 'node:util'
import type { ProxyConfig } from '../../config/schema.js'
import type { ActivatedSockets } from './socket-activation.js'
import { hostAndPort, listenFailure, type ListenerName } from '../../http/listen.js'

/** A socket that is bound to an address and does not listen yet. */
interface BoundSocket {
  getsockname(name: { port?: number }): number
  close(): void
}

/**
 * Binds a socket without accepting connections, as `node:cluster` does for its workers. `@types/node` does not declare
 * the function. Returns a negative error number if it fails.
 */
const { _createServerHandle: bindSocket } = net as unknown as {
  readonly _createServerHandle: (host: string | null, port: number, family: 4 | 6, fd?: number) => BoundSocket | number
}

/**
 * The proxy's listening sockets, shared by all proxy processes. The daemon owns them and accepts nothing: connections
 * that arrive while a process is replaced wait in their queue.
 */
export class SharedListeners {
  readonly #sockets = new Map<string, BoundSocket>()
  readonly #activated: Pick<ActivatedSockets, 'take'>

  constructor(activated: Pick<ActivatedSockets, 'take'>) {
    this.#activated = activated
  }

  /** Returns the socket of a listener, bound when it is first needed. Rejects if the address cannot be used. */
  async get(name: ListenerName, address: string): Promise<SendHandle> {
    const key = keyOf(name, address)
    const socket =
      this.#sockets.get(key) ?? passed(this.#activated.take(name), name, address) ?? (await bound(name, address))
    this.#sockets.set(key, socket)
    return socket as unknown as SendHandle
  }

  /** Closes the sockets that the configuration does not name. */
  retain(config: ProxyConfig): void {
    const used = new Set([
      keyOf('proxy', config.listen),
      ...(config.tls ? [keyOf('proxy_tls', config.tls.listen)] : []),
    ])
    for (const [key, socket] of this.#sockets) {
      if (used.has(key)) continue
      this.#sockets.delete(key)
      socket.close()
    }
  }

  /** Closes the daemon's copies. The sockets of processes stay open. */
  close(): void {
    for (const socket of this.#sockets.values()) socket.close()
    this.#sockets.clear()
  }
}

const keyOf = (name: ListenerName, address: string): string => `${name} ${address}`

/** Returns the socket of a descriptor that systemd has passed. */
function passed(fd: number | undefined, name: ListenerName, address: string): BoundSocket | undefined {
  if (fd === undefined) return undefined
  const socket = bindSocket(null, 0, 4, fd)
  if (typeof socket === 'number') throw new Error(listenFailure(address, { code: getSystemErrorName(socket) }, name))
  return socket
}

async function bound(name: ListenerName, address: string): Promise<BoundSocket> {
  const { host, port } = hostAndPort(address)
  const { address: ip, family } = await lookup(host)
  const socket = bindSocket(ip, port, family === 6 ? 6 : 4)
  if (typeof socket === 'number') throw new Error(listenFailure(address, { code: getSystemErrorName(socket) }, name))
  // A port in use is detected only when the socket listens, which would then be on a free port.
  const found: { port?: number } = {}
  const error = socket.getsockname(found)
  if (error === 0 && found.port !== undefined && found.port !== 0 && (port === 0 || found.port === port)) return socket
  socket.close()
  throw new Error(listenFailure(address, { code: error === 0 ? 'EADDRINUSE' : getSystemErrorName(error) }, name))
}
