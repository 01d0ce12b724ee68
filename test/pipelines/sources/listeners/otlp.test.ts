import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { decodeRequest, MalformedProtobuf } from '../../../../pipelines/sources/listeners/otlp-protobuf.js'
import { countRecords, logRecords } from '../../../../pipelines/sources/listeners/otlp-records.js'
import { testFolder } from '../../../helpers/folder.js'
import { lines, recordOf, sourceRun } from '../source-helper.js'

const varint = (value: number): number[] => (value < 128 ? [value] : [(value % 128) | 128, ...varint(value >>> 7)])
const part = (field: number, ...bytes: Uint8Array[]): Buffer => {
  const body = Buffer.concat(bytes)
  return Buffer.concat([Buffer.from([field * 8 + 2, ...varint(body.length)]), body])
}
const text = (field: number, value: string) => part(field, Buffer.from(value))
const fixed64 = (field: number, value: bigint): Buffer => {
  const bytes = Buffer.alloc(9, field * 8 + 1)
  bytes.writeBigUInt64LE(value, 1)
  return bytes
}
const attribute = (field: number, key: string, ...value: Uint8Array[]) => part(field, text(1, key), part(2, ...value))
const request = (...records: Uint8Array[]) =>
  part(1, part(1, attribute(1, 'service.name', text(1, 'shop'))), part(2, part(1, text(1, 'lib')), ...records))

const MINUS_ONE = Buffer.from([0x18, ...Array.from({ length: 9 }, () => 0xff), 1])
const RECORD = [
  fixed64(1, 1795266000123456789n),
  Buffer.from([0x10, 17]),
  text(3, 'ERROR'),
  part(5, text(1, 'failed')),
  attribute(6, 'count', MINUS_ONE),
  attribute(6, 'large', Buffer.from([0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40])),
  attribute(6, 'list', part(5, part(1, Buffer.from([0x10, 1])), part(1))),
  part(9, Buffer.from('5b8efff798038103d269b633813fc60c', 'hex')),
  // A field that this version does not know.
  part(15, Buffer.from('later')),
]
const EVENT =
  '{"timestamp":"2026-11-21T13:00:00.123456789Z","observed_timestamp":null,"severity_number":17,"severity_text":"ERROR",' +
  '"event_name":null,"body":"failed","attributes":{"count":-1,"large":36028797018963968,"list":[true,null]},' +
  '"resource":{"service.name":"shop"},"scope":{"name":"lib","version":null,"attributes":{}},' +
  '"trace_id":"5b8efff798038103d269b633813fc60c","span_id":null,"flags":null}'
const JSON_REQUEST = {
  resourceLogs: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
      scopeLogs: [
        {
          scope: { name: 'lib' },
          logRecords: [
            {
              timeUnixNano: '1795266000123456789',
              severityNumber: 17,
              severityText: 'ERROR',
              body: { stringValue: 'failed' },
              attributes: [
                { key: 'count', value: { intValue: '-1' } },
                { key: 'large', value: { intValue: '36028797018963968' } },
                { key: 'list', value: { arrayValue: { values: [{ boolValue: true }, {}] } } },
              ],
              traceId: '5b8efff798038103d269b633813fc60c',
            },
          ],
        },
      ],
    },
  ],
}

const pause = async (): Promise<void> => {}

t.test('a large protobuf request is decoded with pauses', async (t) => {
  let pauses = 0
  const decoded = await decodeRequest(
    request(...Array.from({ length: 50_000 }, () => part(2))),
    async () => void pauses++,
  )
  t.equal([...logRecords(decoded, 'event')].length, 50_000)
  t.ok(pauses >= 25, `${pauses} pauses`)
})

t.test('a record, resource or scope of many values is invalid', async (t) => {
  const attributes = Array.from({ length: 30_000 }, (_, at) => ({ key: `k${at}` }))
  for (const logs of [
    { scopeLogs: [{ logRecords: [{ attributes }] }] },
    { resource: { attributes }, scopeLogs: [{ logRecords: [{}] }] },
    { scopeLogs: [{ scope: { attributes }, logRecords: [{}] }] },
  ]) {
    const [record] = logRecords({ resourceLogs: [logs] }, 'event')
    for (const _ of [1, 2]) t.throws(() => record?.(), { name: 'UnfitRecord', message: /more than 40000 values/ })
  }
})

t.test('the records of a request are limited, and what each repeats of its resource and scope', async (t) => {
  const many = Array.from({ length: 100_001 }, () => ({}))
  const attributes = [{ key: 'k', value: { stringValue: 'x'.repeat(1200) } }]
  const of = (logRecords: readonly object[], parts: { resource?: object; scope?: object } = {}) => ({
    resourceLogs: [{ resource: parts.resource, scopeLogs: [{ scope: parts.scope, logRecords }] }],
  })
  const fewer = many.slice(1)
  const counted = async (request: object, choice: 'event' | 'message' = 'event') =>
    await countRecords(request, choice, pause)
  t.equal(await counted(of(fewer)), 100_000)
  t.equal(await counted(of(fewer, { resource: { attributes } }), 'message'), 100_000)
  t.equal(await counted(of(fewer, { resource: { attributes: 'invalid' } })), 100_000)
  const records = /^the request has more than 100000 records; /
  const parts = /^the request has more than 100000 resources and scopes/
  const bytes = /^the records of the request would have more than 134217728 bytes, because /
  for (const [message, request] of [
    [records, of(many)],
    [records, { resourceLogs: [{ scopeLogs: [{ logRecords: fewer }, { logRecords: [{}] }] }] }],
    [parts, { resourceLogs: many }],
    [parts, { resourceLogs: [{ scopeLogs: fewer }] }],
    [bytes, of(fewer, { resource: { attributes } })],
    [bytes, of(fewer, { scope: { attributes } })],
  ] as const)
    await t.rejects(counted(request), { name: 'TooLarge', message })
})

t.test('protobuf and JSON give the same records', async (t) => {
  const decoded = await decodeRequest(request(part(2, ...RECORD)), pause)
  t.same(
    [...logRecords(decoded, 'event')].map((record) => record()),
    [EVENT],
  )
  t.same(
    [...logRecords(JSON_REQUEST, 'event')].map((record) => record()),
    [EVENT],
  )
})

t.test('malformed protobuf is rejected, wherever it is cut', async (t) => {
  const whole = request(part(2, ...RECORD))
  for (let end = 1; end < whole.length; end++)
    await t.rejects(decodeRequest(whole.subarray(0, end), pause), MalformedProtobuf)
  let deep = part(1)
  for (let level = 0; level < 200; level++) deep = part(5, part(1, deep))
  await t.rejects(decodeRequest(request(part(2, part(5, deep))), pause), { message: /levels/ })
  // Field number 0; a tag of 64 bits that is of a known field if it is rounded; one of 33 bits.
  for (const hex of ['0200', 'ffffffffffffffff0a05', '8080808010'])
    await t.rejects(decodeRequest(Buffer.from(hex, 'hex'), pause), { message: 'a field has an invalid number' })
  t.same(await decodeRequest(Buffer.from('f8ffffff0f00', 'hex'), pause), {}, 'unknown fields are skipped')
})

t.test('an OTLP listener responds when its records are durable', async (t) => {
  const folder = testFolder(t)
  const { run, stats, listening, stop } = sourceRun(folder, { otlp: { listen: '127.0.0.1:0' } })
  const running = run()
  const url = `${await listening}v1/logs`
  const post = async (body: string | Uint8Array, headers: Readonly<Record<string, string>>, to = url) => {
    const response = await fetch(to, { method: 'POST', body: new Uint8Array(Buffer.from(body)), headers })
    return { status: response.status, type: response.headers.get('content-type'), body: await response.text() }
  }
  const json = { 'content-type': 'application/json; charset=utf-8' }
  const protobuf = { 'content-type': 'application/x-protobuf' }
  const logs = (...bodies: object[]) =>
    JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: bodies.map((body) => ({ body })) }] }] })
  const members = { kvlistValue: { values: [{ key: 'RayID', value: { stringValue: 'b' } }] } }
  t.match(await post(logs({ stringValue: recordOf('a', 500) }, members), json), { status: 200, body: '{}\n' })
  const partial = await post(logs({ stringValue: recordOf('c') }, { stringValue: 'text' }), json)
  t.match(partial, { status: 200, type: 'application/json' })
  t.match(JSON.parse(partial.body), {
    partialSuccess: {
      rejectedLogRecords: '1',
      errorMessage: /^1 of 2 records are invalid, .* a record is a JSON object/,
    },
  })
  const one = request(part(2, part(5, text(1, recordOf('d')))))
  t.match(await post(gzipSync(one), { ...protobuf, 'content-encoding': 'gzip' }), { status: 200, body: '' })
  const rejected = await post(request(part(2, part(5, text(1, 'text')))), protobuf)
  t.match(rejected, { status: 200, type: 'application/x-protobuf' })
  t.ok(rejected.body.startsWith('\n') && rejected.body.includes('1 of 1 records'))
  t.match(await post('{', json), { status: 400, body: /"code":3/ })
  t.match(await post('[]', json), { status: 400 })
  t.match(await post(one.subarray(0, 9), protobuf), { status: 400, type: 'application/x-protobuf' })
  t.match(await post('{}', { ...json, 'content-encoding': 'gzip' }), { status: 400 })
  t.match(await post('{}', { ...json, 'content-encoding': 'compress' }), { status: 415 })
  t.match(await post('{}', { 'content-type': 'text/plain' }), { status: 415 })
  t.match(await post('{}', json, url.replace('logs', 'traces')), { status: 404 })
  t.match(await post(gzipSync(Buffer.alloc(2 ** 24 + 1)), { ...json, 'content-encoding': 'gzip' }), { status: 413 })
  const many = Array.from({ length: 100_001 }, () => ({ stringValue: recordOf('e') }))
  t.match(await post(logs(...many), json), { status: 413, body: /more than 100000 records/ })
  t.equal((await fetch(url)).status, 405)
  stop()
  t.same(await running, { end: 'done' })
  t.same(lines(folder), ['"a",500', '"b",', '"c",200', '"d",200'])
  t.match(stats, { read: 6, rejected: 2, delivered: 4 })
})

t.test('large OTLP requests that arrive together, and one in tiny parts, are stored', async (t) => {
  const folder = testFolder(t)
  const { run, stats, listening, stop } = sourceRun(folder, { otlp: { listen: '127.0.0.1:0' } })
  const running = run()
  const url = `${await listening}v1/logs`
  const headers = { 'content-type': 'application/json' }
  const logs = (id: string, spaces: number) => {
    const record = { body: { stringValue: recordOf(id) } }
    return Buffer.from(
      JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] }) + ' '.repeat(spaces),
    )
  }
  const ids = ['a', 'b', 'c', 'd']
  const large = ids.map(async (id) => (await fetch(url, { method: 'POST', body: logs(id, 600_000), headers })).status)
  t.same(await Promise.all(large), [200, 200, 200, 200])
  const client = httpRequest(url, { method: 'POST', headers })
  for (const byte of logs('e', 0)) client.write(Buffer.of(byte))
  client.end()
  const [response] = (await once(client, 'response')) as [IncomingMessage]
  response.resume()
  t.equal(response.statusCode, 200)
  stop()
  t.same(await running, { end: 'done' })
  t.same(
    lines(folder),
    [...ids, 'e'].map((id) => `"${id}",200`),
  )
  t.match(stats, { read: 5, rejected: 0, delivered: 5 })
})
