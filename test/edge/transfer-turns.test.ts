import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { LARGE_READS } from '../../src/core/schedule/turn-queue.js'
import { Connector } from '../../src/http/connector.js'
import type { OriginConnection, OriginRequest } from '../../src/http/origin-connection.js'
import { Origin } from '../../src/http/origin.js'
import { openDial, proxyConfig, sendRaw, startOrigin, startProxy } from '../helpers/proxy.js'
import { HOST } from './proxy-helper.js'

const LARGE = 4 * 1024 * 1024

t.test('several large responses that are there at once are read in several turns of the event loop', async (t) => {
  const { url } = await startOrigin(t, (_request, response) => response.end(Buffer.alloc(LARGE)))
  const connector = new Connector({ url }, { ...openDial, zone: 'zone' })
  const origin = new Origin(connector, proxyConfig().origin)
  t.teardown(() => origin.destroy())
  let worst = 0
  const seen = { reads: 0, bytes: 0, ended: 0 }
  const download = (): OriginRequest => ({
    method: 'GET',
    upgrade: false,
    text: 'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    preamble: undefined,
    body: null,
    length: undefined,
    timeoutMs: undefined,
    client: undefined,
    connection: undefined as OriginConnection | undefined,
    sent: () => undefined,
    head: () => undefined,
    data(chunk) {
      seen.reads++
      seen.bytes += chunk.length
      return true
    },
    end: () => void seen.ended++,
    switched: () => undefined,
    fail: (error) => t.fail(error.message),
  })
  const all = Array.from({ length: 4 }, download)
  for (const each of all) origin.send(each)
  while (seen.ended < all.length) {
    await setImmediate()
    worst = Math.max(worst, seen.reads)
    seen.reads = 0
  }
  t.equal(seen.bytes, all.length * LARGE)
  t.ok(worst <= LARGE_READS.amount + all.length, `${worst} reads in one turn`)
})

t.test('large bodies arrive complete in both directions, of several clients at once', async (t) => {
  const { url } = await startOrigin(t, (request, response) => {
    response.setHeader('content-length', request.headers['content-length']!)
    request.pipe(response)
  })
  const { port } = await startProxy(t, url)
  const body = Buffer.alloc(3_000_001, 'abcdefghijklmnopqrstuvwxyz-')
  const hashOf = (bytes: Buffer) => createHash('sha1').update(bytes).digest('hex')
  const head = `POST / HTTP/1.1\r\n${HOST}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n`
  const echo = async () => {
    const { text } = await sendRaw(port, [head, body])
    return hashOf(Buffer.from(text.slice(text.indexOf('\r\n\r\n') + 4), 'latin1'))
  }
  const hashes = await Promise.all(Array.from({ length: 6 }, echo))
  t.same(new Set(hashes), new Set([hashOf(body)]))
})
