import type { Socket } from 'node:net'

/**
 * Keeps a socket open that can no longer be written to: Node would close it together with what the other side sent
 * before it went, and nobody would read it. `unsent` is told instead, and has the socket destroyed when there is no more
 * to read: reading goes on, and comes to an end or an error of its own.
 */
export function drainReads(socket: Socket, unsent: (error: NodeJS.ErrnoException) => void): void {
  const destroy = socket.destroy.bind(socket)
  socket.destroy = (error?: NodeJS.ErrnoException) => {
    if (error?.syscall !== 'write') return destroy(error)
    unsent(error)
    return socket
  }
}
