import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Transform } from 'node:stream'
import type { Test } from 'tap'

/** A server in front of another one that can break connections or stop responding. */
export interface TcpGate {
  readonly server: Server
  readonly port: number
  readonly connections: () => number
  /**
   * `reset`: ends new connections after the first data; `hang`: accepts new ones and forwards nothing on them; `freeze`: as
   * on a network that is cut, no data and no end passes on any connection, and what was sent passes when the fault is over.
   */
  fault: 'reset' | 'hang' | 'freeze' | undefined
  /** Time that each piece of data waits before it passes. */
  delayMs: number
  /** Number of connections that failed. */
  failed: number
  /** On open connections nothing passes any more, not even their end, as if the other machine had lost its power. */
  vanish(): void
}

/** `own`: the port of the gate. Default: a free one. */
export async function tcpGate(t: Test, port: number, own = 0): Promise<TcpGate> {
  const open = new Set<Socket>()
  let fault: TcpGate['fault']
  const vanished = new Set<Socket>()
  let waiting: (() => void)[] = []
  /** Runs it when the gate is not frozen, and never on a connection that vanished. */
  const pass = (socket: Socket, work: () => void): void => {
    if (fault === 'freeze') waiting.push(() => pass(socket, work))
    else if (!vanished.has(socket)) work()
  }
  const passage = (socket: Socket) =>
    new Transform({
      transform: (chunk, _, done) => {
        const forwarded = () => pass(socket, () => done(null, chunk))
        if (gate.delayMs === 0) forwarded()
        else setTimeout(forwarded, gate.delayMs).unref()
      },
      flush: (done) => pass(socket, done),
    })
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket.once('close', () => open.delete(socket)).on('error', () => {}))
    if (fault !== undefined) gate.failed += 1
    if (fault === 'reset') socket.once('data', () => socket.resetAndDestroy())
    else if (fault === 'hang') socket.resume()
    else pass(socket, () => forward(socket))
  })
  const forward = (socket: Socket): void => {
    if (socket.destroyed) return
    const behind = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    behind.on('error', () => {}).on('close', () => pass(socket, () => socket.destroy()))
    socket.on('close', () => pass(socket, () => behind.destroy()))
    socket.pipe(passage(socket)).pipe(behind).pipe(passage(socket)).pipe(socket)
    t.teardown(() => behind.destroy())
  }
  server.listen(own, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const gate: TcpGate = {
    server,
    port: (server.address() as AddressInfo).port,
    connections: () => open.size,
    get fault() {
      return fault
    },
    set fault(next) {
      fault = next
      const due = waiting
      waiting = []
      for (const work of due) work()
    },
    delayMs: 0,
    failed: 0,
    vanish: () => open.forEach((socket) => vanished.add(socket)),
  }
  return gate
}
