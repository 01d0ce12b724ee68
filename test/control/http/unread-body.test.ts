import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { discardRest } from '../../../pipelines/sources/intake/unread-body.js'

/** Time after which a body is given up, with enough of it for a busy machine. */
const LINGER_MS = 500
const LATER_MS = 600

/** A connection to a server, and a function that waits until it has received a text or was closed. */
async function connected(t: Test, listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  let received = ''
  socket.setEncoding('latin1').on('data', (text: string) => (received += text))
  socket.on('error', () => undefined)
  const has = async (text: RegExp) => {
    while (!text.test(received) && !socket.destroyed) await sleep(5)
    t.match(received, text)
  }
  return { socket, has }
}

t.test('a connection whose early refused request arrives completely serves its next request', async (t) => {
  const { socket, has } = await connected(t, (request, response) => {
    discardRest(request, response, LINGER_MS)
    // With such a listener a request that nobody reads never emits its end.
    if (request.method === 'POST') request.on('readable', () => undefined)
    response.end(request.method)
  })
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab')
  await has(/POST/)
  socket.write('cd')
  await sleep(LATER_MS)
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await has(/GET/)
  t.equal(socket.destroyed, false)
})

// A compressed body that grew too large: the next request on its connection got no response.
t.test('a connection whose body went to a decoder that nobody reads serves its next request', async (t) => {
  const { socket, has } = await connected(t, (request, response) => {
    discardRest(request, response, LINGER_MS)
    if (request.method === 'POST') request.pipe(new PassThrough())
    response.end(request.method)
  })
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(1_000_000)}`)
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await has(/\r\nPOST.*\r\nGET/s)
})

// A form that was refused at its parts: the rest was not read, and the connection was reset during its next request.
t.test('a connection whose body an iterator left serves its next request', async (t) => {
  const { socket, has } = await connected(t, (request, response) => {
    const respond = () => {
      discardRest(request, response, LINGER_MS)
      response.end(request.method)
    }
    if (request.method === 'GET') return respond()
    void request.iterator({ destroyOnReturn: false }).next().then(respond)
  })
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(1_000_000)}`)
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await has(/\r\nPOST.*\r\nGET/s)
})

t.test('a client that does not finish a refused body is disconnected', async (t) => {
  const { socket } = await connected(t, (request, response) => {
    discardRest(request, response, 20)
    response.end()
  })
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab')
  await once(socket, 'close')
  t.pass('closed')
})
