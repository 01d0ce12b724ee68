import { once, EventEmitter } from 'node:events'
import zlib from 'node:zlib'
import t from 'tap'
import { CompressedResponse } from '../../../src/edge/compression/compressed-response.js'
import type { Exchange } from '../../../src/edge/exchange/exchange.js'
import type { ResponseSink } from '../../../src/edge/exchange/response.js'
import { headerOf, type RawHeaders } from '../../../src/http/headers.js'

/** A client that keeps what it gets. It emits `end`. */
class Client extends EventEmitter implements ResponseSink {
  readonly copies = true
  fields: RawHeaders = []
  readonly chunks: Buffer[] = []

  head(_status: number, fields: RawHeaders): void {
    this.fields = fields
  }

  data(chunk: Buffer): boolean {
    this.chunks.push(Buffer.from(chunk))
    return true
  }

  end(): void {
    this.emit('end')
  }

  fail(): void {}
  onDrain(): void {}
}

const open = (client: Client): CompressedResponse =>
  new CompressedResponse(client, {
    method: 'GET',
    rawHeaders: ['Accept-Encoding', 'gzip'],
    zone: {},
    caching: {},
    conversion: {},
    decisions: { compression: ['default'] },
  } as unknown as Exchange)

const TYPE = ['content-type', 'text/markdown; charset=utf-8']

t.test('short Markdown is compressed at once, and the client gets the length', async (t) => {
  const client = new Client()
  const sink = open(client)
  const chunk = Buffer.from('# Words\n\nof a page. '.repeat(50))
  sink.head(200, [...TYPE, 'content-length', String(chunk.length * 2)])
  const expected = Buffer.concat([chunk, chunk])
  sink.data(chunk)
  sink.data(chunk)
  // The memory of a chunk belongs to the next read.
  chunk.fill(0)
  sink.end()
  const body = Buffer.concat(client.chunks)
  t.equal(headerOf(client.fields, 'content-encoding'), 'gzip')
  t.equal(headerOf(client.fields, 'content-length'), String(body.length))
  t.ok(zlib.gunzipSync(body).equals(expected))
})

t.test('Markdown that is longer than its length is compressed in a stream', async (t) => {
  const client = new Client()
  const sink = open(client)
  const chunk = Buffer.alloc(20_000, 'words ')
  sink.head(200, [...TYPE, 'content-length', '20000'])
  for (let i = 0; i < 3; i++) sink.data(chunk)
  const ended = once(client, 'end')
  sink.end()
  await ended
  t.equal(headerOf(client.fields, 'content-length'), undefined)
  t.ok(zlib.gunzipSync(Buffer.concat(client.chunks)).equals(Buffer.concat([chunk, chunk, chunk])))
})
