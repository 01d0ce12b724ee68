/** The drill of other servers sees what it looks for: here a proxy with a fault has the place of edged. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { GardenRun } from './garden/garden.js'
import { readMessage } from './garden/messages.js'
import type { Kind } from './garden/mutations.js'
import { GardenOrigin } from './garden/origin.js'

const CASES = 24

async function listening(t: Test, serve: (client: Socket) => void): Promise<number> {
  const open = new Set<Socket>()
  const server = createServer((client) => {
    open.add(client)
    client.on('error', () => client.destroy())
    serve(client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const client of open) client.destroy()
  })
  return (server.address() as AddressInfo).port
}

/** A proxy that passes all bytes on as they are. */
const relay = async (t: Test, to: number): Promise<number> =>
  await listening(t, (client) => {
    const origin = connect(to, '127.0.0.1')
    origin.on('error', () => client.destroy())
    client.on('close', () => origin.destroy())
    client.pipe(origin).pipe(client)
  })

/** A strict proxy, or one with a fault: it passes `changed` heads on, and gives each client the responses to the requests that it has read. */
const proxy = async (t: Test, to: number, changed: (head: string) => string): Promise<number> =>
  await listening(t, (client) => {
    let text = ''
    let busy = false
    const next = (): void => {
      const read = readMessage(text, 'request')
      if (busy || read === undefined) return
      if ('fault' in read) return void client.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')
      const method = read.head.line.split(' ')[0]!
      const head = text.slice(0, text.indexOf('\r\n\r\n') + 4)
      const raw = text.slice(0, text.length - read.rest.length)
      text = read.rest
      busy = true
      const origin = connect(to, '127.0.0.1').on('error', () => client.destroy())
      origin.write(changed(head) + raw.slice(head.length), 'latin1')
      let got = ''
      origin.on('data', (chunk: Buffer) => {
        got += chunk.toString('latin1')
        const response = readMessage(got, 'response', { method })
        if (response === undefined || !busy) return
        busy = false
        client.write(got.slice(0, got.length - ('rest' in response ? response.rest.length : 0)), 'latin1')
        // What the origin sends to hidden requests is nobody's.
        setTimeout(() => origin.destroy(), 20)
        next()
      })
    }
    client.on('data', (chunk) => {
      text += chunk.toString('latin1')
      next()
    })
  })

async function failures(t: Test, kind: Kind, front: (origin: number) => Promise<number>): Promise<string[]> {
  const origin = new GardenOrigin()
  const port = await origin.listen()
  t.teardown(() => origin.close())
  const edged = await front(port)
  const peer = { name: 'peer', version: '1', toEdged: await relay(t, edged), toOrigin: await relay(t, port) }
  return await new GardenRun(origin, {
    peers: [peer],
    edged,
    seed: 1,
    kinds: [kind],
    silentMs: 2000,
    patientMs: 2000,
  }).all(CASES)
}

t.test('a strict proxy is safe', async (t) => {
  t.same(await failures(t, 'requests', async (origin) => await proxy(t, origin, (head) => head)), [])
})

t.test('a proxy that leaves out the length of a body is unsafe', async (t) => {
  const withoutLength = (head: string) => head.replace(/\r\ncontent-length:[^\r]*/i, '')
  const found = await failures(t, 'requests', async (origin) => await proxy(t, origin, withoutLength))
  t.match(found.join('\n'), /the origin reads \d requests, and the client gets \d responses|are no request/)
})

t.test('a proxy that passes on what is not HTTP is unsafe', async (t) => {
  const withBadField = (head: string) => head.replace('X-Case', 'X Case')
  const found = await failures(t, 'requests', async (origin) => await proxy(t, origin, withBadField))
  t.match(found.join('\n'), /the origin gets bytes that are no request/)
})
