import type { Socket } from 'node:net'
import { parseProxyHeader, type ConnectionEnds } from '../../http/proxy-protocol.js'

/** Why a connection has no usable header. */
export type ProxyHeaderFailure = 'timeout' | 'invalid' | 'closed'

interface Reading {
  readonly timeoutMs: number
  /** The header is complete, and the bytes after it are put back. */
  readonly read: (ends: ConnectionEnds | undefined) => void
  /** The socket is destroyed afterwards. */
  readonly failed: (failure: ProxyHeaderFailure) => void
}

/** Reads the headers of new connections. */
export class ProxyHeaderReader {
  readonly #pending = new Set<Socket>()

  /** Reads the header of a connection, which may arrive in parts. Nothing is reported after {@link close}. */
  accept(socket: Socket, { timeoutMs, read, failed }: Reading): void {
    this.#pending.add(socket)
    const timer = timeoutMs > 0 ? setTimeout(() => fail('timeout'), timeoutMs) : undefined
    timer?.unref()
    const stop = (): boolean => {
      clearTimeout(timer)
      socket.off('readable', receive)
      socket.off('error', ignore)
      socket.off('end', ended)
      socket.off('close', stop)
      return this.#pending.delete(socket)
    }
    const fail = (failure: ProxyHeaderFailure): void => {
      if (!stop()) return
      failed(failure)
      // A reset that arrives later must not be an uncaught error.
      socket.on('error', ignore)
      socket.destroy()
    }
    let received: Buffer = Buffer.alloc(0)
    const ended = (): void => fail(received.length === 0 ? 'closed' : 'invalid')
    const receive = (): void => {
      const chunk = socket.read() as Buffer | null
      if (chunk === null) return
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const header = parseProxyHeader(received)
      if (header === 'incomplete') return
      if (header === 'invalid') return fail('invalid')
      if (!stop()) return
      if (received.length > header.length) socket.unshift(received.subarray(header.length))
      read(header.ends)
    }
    socket.on('readable', receive)
    socket.on('error', ignore)
    socket.on('end', ended)
    socket.on('close', stop)
  }

  /** Ends the connections whose headers are incomplete. */
  close(): void {
    for (const socket of this.#pending) socket.destroy()
  }
}

/** An error is followed by the end of the connection. */
const ignore = (): void => undefined
