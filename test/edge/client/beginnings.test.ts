import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { startOrigin, startProxy } from '../../helpers/proxy.js'

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
      setImmediate(() => socket.write(REQUEST.slice(20)))
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
