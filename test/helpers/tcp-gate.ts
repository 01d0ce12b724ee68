import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'

/** A server in front of another one that can break connections or stop responding. */
export interface TcpGate {
  readonly server: Server
  readonly port: number
  readonly connections: () => number
  /** `reset`: ends connections after the first data; `hang`: accepts everything and forwards nothing. */
  fault: 'reset' | 'hang' | undefined
  /** Number of connections that failed. */
  failed: number
}

/** `own`: the port of the gate. Default: a free one. */
export async function tcpGate(t: Test, port: number, own = 0): Promise<TcpGate> {
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket.once('close', () => open.delete(socket)).on('error', () => {}))
    if (gate.fault !== undefined) gate.failed += 1
    if (gate.fault === 'reset') socket.once('data', () => socket.resetAndDestroy())
    else if (gate.fault === 'hang') socket.resume()
    else {
      const behind = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      behind.on('error', () => socket.destroy()).on('close', () => socket.destroy())
      socket.on('close', () => behind.destroy())
      socket.pipe(behind).pipe(socket)
    }
  })
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
    fault: undefined,
    failed: 0,
  }
  return gate
}
