import { once } from 'node:events'
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { BeginningQueue } from '../../../src/core/schedule/beginning-queue.js'
import { BEGINNINGS, LARGE_READS, TurnQueue } from '../../../src/core/schedule/turn-queue.js'
import { ClientConnection } from '../../../src/edge/client/connection.js'
import { Http2Connection } from '../../../src/edge/client/http2-connection.js'
import { loadCertificate } from '../../../src/tls/certificates.js'
import { TlsTerminator, type SecureConnection } from '../../../src/tls/terminator.js'
import { proxyConfig, startOrigin, startProxy } from '../../helpers/proxy.js'
import { tlsFile } from '../../helpers/tls.js'
import { until } from '../../helpers/web.js'

const CERTIFICATE = loadCertificate({ cert_file: tlsFile('cert.pem'), key_file: tlsFile('key.pem') })
const TICKET_KEYS = randomBytes(48)

/** Any work fills a turn. */
const shortTurns = (): TurnQueue => new TurnQueue({ ...BEGINNINGS, amount: 1e-9, arrivalAmount: 1e-9 })

interface Listening {
  readonly port: number
  /** Accepted sockets, before TLS. */
  readonly sockets: Socket[]
}

/** A listener that passes connections to `secured` after their handshakes. `began` is called when one begins. */
async function listen(
  t: Test,
  { turns, secured, began }: { turns: TurnQueue; secured: (connection: SecureConnection) => void; began?: () => void },
): Promise<Listening> {
  const terminator = new TlsTerminator(
    {
      certificate() {
        began?.()
        return CERTIFICATE
      },
      challenge: () => undefined,
      minVersion: () => '1.2',
      clientAuthority: () => undefined,
      protocols: () => ['h2'],
      handshakeTimeout: () => 30_000,
      ticketKeys: () => TICKET_KEYS,
    },
    { secured, failed: () => undefined },
    turns,
  )
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    terminator.accept(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { port: (server.address() as AddressInfo).port, sockets }
}

function client(t: Test, port: number): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
  session.on('error', () => undefined)
  t.teardown(() => session.destroy())
  return session
}

/** Returns the maximum of what `counter` counts between two turns of the event loop, until `done`. */
async function worstTurn(counter: { count: number }, done: () => boolean): Promise<number> {
  let worst = 0
  while (!done()) {
    await setImmediate()
    worst = Math.max(worst, counter.count)
    counter.count = 0
  }
  return worst
}

t.test('TLS handshakes beyond the limit of a turn begin in later turns, in order', async (t) => {
  const handshakes = { count: 0 }
  let secured = 0
  const CLIENTS = 30
  const turns = shortTurns()
  const { port, sockets } = await listen(t, { turns, began: () => handshakes.count++, secured: () => secured++ })
  const all = Array.from({ length: CLIENTS }, () => connect(port, '127.0.0.1'))
  t.teardown(() => all.forEach((socket) => socket.destroy()))
  // The runtime accepts one connection in each turn.
  await until(() => sockets.length === CLIENTS)
  for (const socket of all)
    connectTls({ socket, ALPNProtocols: ['h2'], rejectUnauthorized: false }).on('error', () => undefined)
  const worst = await worstTurn(handshakes, () => secured === CLIENTS)
  t.equal(secured, CLIENTS)
  // One that began at once, and one that waited.
  t.ok(worst <= 2, `${worst} handshakes in one turn`)
})

t.test('the time of a handshake includes what the runtime does in a tick', async (t) => {
  const responded: boolean[] = []
  class Observed extends TurnQueue {
    override spend(amount: number): boolean {
      responded.push(listening.sockets.every((socket) => socket.bytesWritten > 0))
      return super.spend(amount)
    }
  }
  let resolve = (): void => undefined
  const promise = new Promise<void>((resolved) => {
    resolve = resolved
  })
  const listening = await listen(t, { turns: new Observed(BEGINNINGS), secured: () => resolve() })
  client(t, listening.port)
  await promise
  t.same(responded, [true], 'the ServerHello was sent before')
})

t.test('streams of HTTP/2 beyond the limit of a turn begin in later turns, in order', async (t) => {
  const begun = { count: 0 }
  const paths: string[] = []
  const { port } = await listen(t, {
    turns: new TurnQueue(BEGINNINGS),
    secured(secure) {
      const connection = new Http2Connection(secure, proxyConfig().limits, {
        turns: queue,
        events: {
          requested(stream, { target }) {
            begun.count++
            paths.push(target)
            stream.reject({ status: 404 }, { rayId: '', at: 0, zone: undefined })
          },
          refused: () => t.fail('no request is refused'),
        },
        monotonic: () => performance.now(),
        admit: () => true,
        release: () => undefined,
        cancelled: () => false,
        abused: () => undefined,
      })
      t.teardown(() => connection.cut())
    },
  })
  const queue = shortTurns()
  const session = client(t, port)
  await once(session, 'remoteSettings')
  const wanted = Array.from({ length: 100 }, (_, i) => `/${i}`)
  const responses = wanted.map(async (path) => {
    const stream = session.request({ ':path': path, ':authority': 'a' })
    stream.resume()
    await once(stream, 'close')
  })
  const worst = await worstTurn(begun, () => paths.length === wanted.length)
  t.same(paths, wanted)
  t.ok(worst <= 8, `${worst} streams in one turn`)
  await Promise.all(responses)
})

const REQUEST = 'GET /a HTTP/1.1\r\nHost: example.test\r\n\r\n'

/** Connects clients; `read` resolves with what a client got once it has this many responses. */
async function clients(t: Test, url: string, count: number) {
  const { hostname, port } = new URL(url)
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const socket: Socket = connect({ host: hostname, port: Number(port) }).on('error', () => undefined)
      t.teardown(() => socket.destroy())
      await once(socket, 'connect')
      let text = ''
      socket.setEncoding('latin1').on('data', (data: string) => (text += data))
      const read = async (responses: number) => {
        while (text.split('HTTP/1.1 200').length - 1 < responses && !socket.readableEnded && !socket.destroyed)
          await new Promise((resolve) => setTimeout(resolve, 2))
        return text.split('HTTP/1.1 200').length - 1
      }
      return { socket, read }
    }),
  )
}

t.test('requests that arrive together all get a response', async (t) => {
  const { url: origin } = await startOrigin(t, (request, response) => {
    let body = ''
    request.on('data', (data: Buffer) => (body += data.toString()))
    request.on('end', () => response.end(`${request.method} ${body}`))
  })
  const proxy = await startProxy(t, origin)
  const all = await clients(t, proxy.url, 300)
  for (const [at, { socket }] of all.entries()) {
    if (at % 4 === 0) socket.write(REQUEST)
    else if (at % 4 === 1) socket.write(REQUEST.repeat(3))
    else if (at % 4 === 2) socket.write('POST /a HTTP/1.1\r\nHost: example.test\r\nContent-Length: 5\r\n\r\nhello')
    else {
      socket.write(REQUEST.slice(0, 20))
      void setImmediate().then(() => socket.write(REQUEST.slice(20)))
    }
  }
  const counts = await Promise.all(all.map(async ({ read }, at) => await read(at % 4 === 1 ? 3 : 1)))
  t.same(
    counts,
    all.map((_, at) => (at % 4 === 1 ? 3 : 1)),
  )
})

t.test('a client that leaves while its request waits harms nobody', async (t) => {
  const { url: origin } = await startOrigin(t, (_request, response) => response.end('ok'))
  const proxy = await startProxy(t, origin)
  const all = await clients(t, proxy.url, 200)
  for (const [at, { socket }] of all.entries()) {
    socket.write(REQUEST)
    if (at % 4 === 1) socket.resetAndDestroy()
    if (at % 4 === 3) socket.end()
  }
  // One that ends its side counts as gone too.
  await Promise.all(
    all.filter((_, at) => at % 4 === 3).map(async ({ socket }) => socket.closed || (await once(socket, 'close'))),
  )
  const served = await Promise.all(all.filter((_, at) => at % 2 === 0).map(async ({ read }) => await read(1)))
  t.ok(served.every((count) => count === 1))
})

t.test('requests of HTTP/1.1 beyond the limit of a turn begin in later turns', async (t) => {
  const begun = { count: 0 }
  let total = 0
  let accepted = 0
  const beginnings = new BeginningQueue(3)
  const turns = new TurnQueue(LARGE_READS)
  const events = {
    requested(stream: Pick<ClientConnection, 'reject'>) {
      begun.count++
      total++
      stream.reject({ status: 404 }, { rayId: '', at: 0, zone: undefined })
    },
    refused: () => t.fail('no request is refused'),
  }
  const server = createServer((socket) => {
    accepted++
    const parts = { secure: undefined, ends: undefined, turns, beginnings }
    void new ClientConnection(socket, proxyConfig().limits, () => performance.now(), events, parts)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const all = await clients(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, 60)
  // The runtime accepts one connection in each turn.
  await until(() => accepted === all.length)
  for (const { socket } of all) socket.write(REQUEST)
  const worst = await worstTurn(begun, () => total === all.length)
  // Those that began when they arrived, and those that waited.
  t.ok(worst <= 6, `${worst} requests in one turn`)
})
