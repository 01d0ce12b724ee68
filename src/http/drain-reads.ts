import type { Socket } from 'node:net'

/**
 * Keeps a socket open that can no longer be written to. Node would close the socket together with unread data that the
 * peer sent before it left. Calls `unsent` instead, which has the socket destroyed when nothing is left to read.
 * Reading continues, and finishes with an end or an error.
 */
export function drainReads(socket: Socket, unsent: (error: NodeJS.ErrnoException) => void): void {
  const destroy = socket.destroy.bind(socket)
  socket.destroy = (error?: NodeJS.ErrnoException) => {
    if (error?.syscall !== 'write') return destroy(error)
    unsent(error)
    return socket
  }
}
