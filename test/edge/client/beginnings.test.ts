import { once } from 'node:events'
import { connect, type ClientHttp2Session } from 'node:http2'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { BEGINNINGS, TurnQueue } from '../../../src/core/turn-queue.js'
import { Http2Connection } from '../../../src/edge/client/http2-connection.js'
import { loadCertificate } from '../../../src/tls/certificates.js'
import { TlsTerminator, type SecureConnection } from '../../../src/tls/terminator.js'
import { proxyConfig } from '../../helpers/proxy.js'
import { tlsFile } from '../../helpers/tls.js'

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
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
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
  const { port } = await listen(t, { turns, began: () => handshakes.count++, secured: () => secured++ })
  for (let i = 0; i < CLIENTS; i++) client(t, port)
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
