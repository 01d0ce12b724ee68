import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  connect as connectTcp,
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net'
import { connect as connectTls, createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import { SocketWriter } from '../../src/http/socket-writer.js'
import { CA_FILE, tlsFile } from '../helpers/tls.js'

const PROTOCOLS = ['TCP', 'TLS'] as const

/** Returns both ends of a connection. */
async function connection(t: Test, protocol: (typeof PROTOCOLS)[number]): Promise<{ server: Socket; client: Socket }> {
  const options = { cert: readFileSync(tlsFile('cert.pem')), key: readFileSync(tlsFile('key.pem')) }
  const listener: Server = protocol === 'TLS' ? createTlsServer(options) : createTcpServer()
  t.teardown(() => listener.close())
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const to = { port: (listener.address() as AddressInfo).port, host: '127.0.0.1' }
  const arrived = once(listener, protocol === 'TLS' ? 'secureConnection' : 'connection')
  const client =
    protocol === 'TLS' ? connectTls({ ...to, ca: readFileSync(CA_FILE), servername: 'localhost' }) : connectTcp(to)
  t.teardown(() => client.destroy())
  const [server] = (await arrived) as [Socket]
  t.teardown(() => server.destroy())
  return { server, client }
}

/** Chunks shorter and longer than the limits of the writer. */
const SIZES = [1, 100, 16_383, 16_384, 16_385, 49_151, 49_152, 65_536, 65_537, 65_536, 20_000, 65_536, 3]

for (const protocol of PROTOCOLS)
  for (const form of ['each with text before it', 'bytes alone'])
    for (const obeys of [true, false]) {
      const name = obeys ? 'a sender that waits' : 'a sender that does not wait'
      t.test(`${protocol}, ${form}: ${name} may change its chunks, and hears once of the end`, async (t) => {
        const { server, client } = await connection(t, protocol)
        const writer = new SocketWriter(server)
        const sent: Buffer[] = []
        const received: Buffer[] = []
        client.on('data', (chunk: Buffer) => received.push(chunk))
        let ends = 0
        for (let response = 1; response <= 3; response++) {
          for (const size of SIZES) {
            const chunk = randomBytes(size)
            sent.push(Buffer.from(form === 'bytes alone' ? '' : `<${size}>`), Buffer.from(chunk))
            if (form !== 'bytes alone') writer.text(`<${size}>`)
            writer.bytes(chunk)
            const isOpen = writer.open
            // Longer chunks are not copied.
            if (size <= 65_536) chunk.fill('#')
            if (obeys && !isOpen) await once(server, 'drain')
          }
          await new Promise<void>((resolve) =>
            writer.end(() => {
              ends++
              resolve()
            }),
          )
          t.equal(ends, response)
          t.equal(server.writableLength, 0, 'the system has accepted everything')
        }
        server.end()
        await once(client, 'end')
        t.ok(Buffer.concat(received).equals(Buffer.concat(sent)), 'the bytes as they were')
      })
    }

t.test('TLS: the end of a response that never arrives is not reported', async (t) => {
  const { server, client } = await connection(t, 'TLS')
  client.pause()
  const writer = new SocketWriter(server)
  let ended = false
  for (let i = 0; i < 200; i++) writer.bytes(randomBytes(65_536))
  writer.end(() => (ended = true))
  server.on('error', () => undefined)
  server.destroy()
  await once(server, 'close')
  await new Promise((resolve) => setImmediate(resolve))
  t.notOk(ended)
})
