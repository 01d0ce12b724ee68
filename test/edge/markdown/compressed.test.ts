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

const open = (client: Client, conversion: { bytes: number; isWhole: boolean }): CompressedResponse =>
  new CompressedResponse(client, {
    method: 'GET',
    rawHeaders: ['Accept-Encoding', 'gzip'],
    zone: {},
    caching: {},
    conversion,
    decisions: { compression: ['default'] },
  } as unknown as Exchange)

const FIELDS = ['content-type', 'text/markdown; charset=utf-8']

t.test('short Markdown that is whole is compressed when it ends, without a length', async (t) => {
  const client = new Client()
  const chunk = Buffer.from('# Words\n\nof a page. '.repeat(50))
  const sink = open(client, { bytes: chunk.length * 2, isWhole: true })
  sink.head(200, FIELDS)
  const expected = Buffer.concat([chunk, chunk])
  sink.data(chunk)
  sink.data(chunk)
  // The memory of a chunk belongs to the next read.
  chunk.fill(0)
  t.same(client.chunks, [])
  let ended = false
  client.once('end', () => (ended = true))
  sink.end()
  t.ok(ended, 'no later turn is needed')
  t.equal(headerOf(client.fields, 'content-encoding'), 'gzip')
  t.equal(headerOf(client.fields, 'content-length'), undefined)
  t.ok(zlib.gunzipSync(Buffer.concat(client.chunks)).equals(expected))
})

t.test('other Markdown is compressed in a stream', async (t) => {
  const chunk = Buffer.alloc(20_000, 'words ')
  for (const conversion of [
    { bytes: 20_000, isWhole: false },
    { bytes: 60_000, isWhole: true },
  ]) {
    const client = new Client()
    const sink = open(client, conversion)
    sink.head(200, FIELDS)
    for (let i = 0; i < 3; i++) sink.data(chunk)
    const ended = once(client, 'end')
    sink.end()
    await ended
    t.equal(headerOf(client.fields, 'content-length'), undefined)
    t.ok(zlib.gunzipSync(Buffer.concat(client.chunks)).equals(Buffer.concat([chunk, chunk, chunk])))
  }
})
