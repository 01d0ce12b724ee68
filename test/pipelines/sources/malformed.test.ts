import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { CreateBucketCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { Redis } from 'ioredis'
import t from 'tap'
import { testFolder } from '../../helpers/folder.js'
import { committed, kafkaCluster, noKafka, produce } from '../../helpers/kafka-cluster.js'
import { natsClient, natsServer, NO_NATS } from '../../helpers/nats.js'
import { NO_REDIS, redisServer } from '../../helpers/redis.js'
import { NO_SWIFT, swiftClient, swiftServer } from '../../helpers/swift.js'
import { lines, recordOf, sourceRun } from './source-helper.js'

/** A record in whose text one byte is not UTF-8. */
const NOT_UTF8 = Buffer.from(recordOf('a\u00ff'), 'latin1')
const LONG = Buffer.from(recordOf('x'.repeat(10_000_000)))

/** What is not a record, without a line break inside. */
const MALFORMED: readonly Buffer[] = [
  'text',
  'null',
  '[]',
  '"text"',
  '{"RayID":"half',
  recordOf('nul').replace('nul', '\0'),
  `\0${recordOf('nul')}`,
  `${recordOf('twice')}${recordOf('twice')}`,
  '{"a":'.repeat(1000) + '1' + '}'.repeat(1000),
  NOT_UTF8,
  gzipSync(recordOf('compressed')),
].map((text) => Buffer.from(text))

/** Between two records: what follows malformed input is read. */
const MESSAGES: readonly Buffer[] = [Buffer.from(recordOf('a')), Buffer.alloc(0), ...MALFORMED, Buffer.from(recordOf('z'))] // prettier-ignore
const VALID = ['"a",200', '"z",200']
const COUNTS = { read: MESSAGES.length, rejected: MESSAGES.length - 2, delivered: 2 }

/** The same as lines, without those that would be another number of lines. */
const LINES = MALFORMED.filter((text) => !text.includes('\n'))
const textOf = (...more: readonly Buffer[]) =>
  Buffer.concat([recordOf('a'), ...LINES, ...more, recordOf('z')].flatMap((line) => [Buffer.from(line), Buffer.of(10)]))

t.test('messages of Kafka, and those without a value', { skip: noKafka(t) }, async (t) => {
  const folder = testFolder(t)
  const { brokers } = await kafkaCluster(t)
  await produce(brokers, [...MESSAGES, null])
  const { run, read, stats, stop } = sourceRun(folder, {
    kafka: { brokers, topics: ['logs'], session_timeout: '6s' },
  })
  const running = run()
  await read(MESSAGES.length + 1)
  while ((await committed(brokers, 'edged')) < MESSAGES.length + 1) await setTimeout(50)
  stop()
  t.match(await running, { end: 'done' })
  t.same(lines(folder), VALID)
  t.match(stats, { read: COUNTS.read + 1, rejected: COUNTS.rejected + 1, delivered: 2 })
})

t.test('messages of NATS', { skip: NO_NATS }, async (t) => {
  const folder = testFolder(t, { nats: {} })
  const server = await natsServer(join(folder, 'nats'))
  t.teardown(() => server.kill())
  const client = await natsClient(t, server)
  const manager = await jetstreamManager(client)
  await manager.streams.add({ name: 'S', subjects: ['logs.>'] })
  await manager.consumers.add('S', { durable_name: 'edged', ack_policy: AckPolicy.Explicit })
  for (const message of MESSAGES) await jetstream(client).publish('logs.a', message)
  const { run, stats, stop } = sourceRun(folder, { nats: { servers: [server.url], stream: 'S' } })
  const running = run()
  while ((await manager.consumers.info('S', 'edged')).ack_floor.stream_seq < MESSAGES.length) await setTimeout(20)
  stop()
  t.match(await running, { end: 'done' })
  t.same(lines(folder), VALID)
  t.match(stats, COUNTS)
})

t.test('entries of a Redis stream, without the field and with long ones too', { skip: NO_REDIS }, async (t) => {
  const folder = testFolder(t, { redis: {} })
  const server = await redisServer(join(folder, 'redis'))
  t.teardown(() => server.kill())
  const client = new Redis(server.url)
  t.teardown(() => client.disconnect())
  for (const message of MESSAGES) await client.xadd('s', '*', 'other', 'x', 'record', message)
  await client.xadd('s', '*', 'other', recordOf('b'))
  await client.xadd('s', '*', 'record', LONG)
  await client.xadd('s', '*', 'record', recordOf('zz'))
  const { run, read, stats, stop } = sourceRun(folder, { redis_stream: server.url, key: 's' })
  const running = run()
  await read(MESSAGES.length + 3)
  while ((await client.xpending('s', 'edged'))[0] !== 0) await setTimeout(20)
  stop()
  t.match(await running, { end: 'done' })
  t.same(lines(folder), [...VALID, '"zz",200'])
  t.match(stats, { read: COUNTS.read + 3, rejected: COUNTS.rejected + 2, delivered: 3 })
})

t.test('objects of S3: lines, damaged ones and binary data', { skip: NO_SWIFT }, async (t) => {
  const folder = testFolder(t)
  const server = await swiftServer(t)
  const { port, id, secret } = server
  const endpoint = `http://127.0.0.1:${port}`
  const client = swiftClient(t, server)
  await client.send(new CreateBucketCommand({ Bucket: 'logs' }))
  const put = async (key: string, body: Uint8Array) =>
    await client.send(new PutObjectCommand({ Bucket: 'logs', Key: key, Body: body }))
  const many = Array.from({ length: 20_000 }, (_, n) => recordOf(`m${n}`))
  const gzip = gzipSync(many.map((record) => `${record}\n`).join(''))
  const flipped = Buffer.from(gzip)
  flipped.fill(0, flipped.length - 8)
  await put('a/1-lines', textOf(LONG))
  await put('a/2-half.gz', gzip.subarray(0, gzip.length - 20))
  await put('a/3-checksum.gz', flipped)
  await put('a/4-zeros', Buffer.alloc(3_000_000))
  await put('a/5-array', Buffer.from(`[${recordOf('b')},1,${recordOf('c')},`))
  await put('a/6', Buffer.from(recordOf('y')))
  const keys = { 'access-key-id': id, 'secret-access-key': secret }
  const first = sourceRun(folder, { s3: { bucket: 'logs', prefix: 'a/', endpoint, ...keys } })
  t.match(await first.run(), { end: 'done' })
  const found = lines(folder)
  const named = found.filter((line) => !line.startsWith('"m'))
  t.same(named, ['a', 'b', 'c', 'y', 'z'].map((name) => `"${name}",200`)) // prettier-ignore
  // Of a stream that is damaged, no more than the text of its last chunk is lost.
  const times = new Map<string, number>()
  for (const line of found) times.set(line, (times.get(line) ?? 0) + 1)
  t.ok([...times.values()].filter((count) => count === 2).length > 18_000, `${found.length} records`)
  t.ok(times.size > 19_900)
  // Lines and the long one; two damaged gzip streams; zeros as one long line; an element and the end of the array.
  t.equal(first.stats.rejected, LINES.length + 1 + 2 + 1 + 2)
  const second = sourceRun(folder, { s3: { bucket: 'logs', prefix: 'a/', endpoint, ...keys } })
  t.match(await second.run(), { end: 'done' })
  t.equal(second.stats.read, 0, 'damaged objects are not read again')
})

t.test('requests of a listener: lines, codings and types', async (t) => {
  const folder = testFolder(t)
  const { run, stats, listening, stop } = sourceRun(folder, { http: '127.0.0.1:0', token: 'a-token-of-sixteen' })
  const running = run()
  const url = await listening
  const post = async (body: Buffer, headers: Readonly<Record<string, string>> = {}) => {
    const authorization = 'Bearer a-token-of-sixteen'
    const response = await fetch(url, { method: 'POST', body: new Uint8Array(body), headers: { authorization, ...headers } }) // prettier-ignore
    return { status: response.status, body: (await response.json()) as object }
  }
  const mixed = await post(textOf(LONG))
  t.match(mixed, { status: 202, body: { accepted: 2 } })
  t.match((mixed.body as { rejected: object[] }).rejected.length, LINES.length + 1)
  const gzip = { 'content-encoding': 'gzip' }
  t.match(await post(gzipSync(recordOf('b')).subarray(0, -9), gzip), { status: 400, body: { error: /./ } })
  t.match(await post(Buffer.from(recordOf('b')), gzip), { status: 400 })
  t.match(await post(Buffer.from([0x1f, 0x8b, 1, 2, 3])), { status: 400 })
  t.match(await post(Buffer.from(`[${recordOf('c')}`)), { status: 400 })
  t.match(await post(Buffer.alloc(0)), { status: 202, body: { accepted: 0, rejected: [] } })
  t.match(await post(gzipSync(gzipSync(recordOf('d'))), { 'content-encoding': 'gzip, gzip' }), {
    status: 202,
    body: { accepted: 1 },
  })
  const thrice = gzipSync(gzipSync(gzipSync(recordOf('d'))))
  t.match(await post(thrice, { 'content-encoding': 'gzip, gzip, gzip' }), { status: 415 })
  t.match(await post(Buffer.from(recordOf('e')), { 'content-type': 'image/png' }), { status: 202 })
  t.match(await post(Buffer.from(recordOf('e')), { 'content-encoding': 'compress' }), { status: 415 })
  stop()
  t.match(await running, { end: 'done' })
  const found = lines(folder)
  for (const name of ['a', 'd', 'e', 'z']) t.ok(found.includes(`"${name}",200`), name)
  t.equal(stats.rejected, LINES.length + 1)
})

t.test('messages of syslog, over TCP and UDP', async (t) => {
  const folder = testFolder(t)
  const tcp = sourceRun(folder, { syslog: { listen: '127.0.0.1:0' } })
  const running = tcp.run()
  const port = Number(new URL(await tcp.listening).port)
  const send = async (bytes: Buffer) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {}).end(bytes)
    await once(socket, 'close')
  }
  // Text that is not UTF-8 is text with replacements, like everywhere in a syslog message.
  const malformed = LINES.filter((line) => !line.equals(NOT_UTF8) && !line.includes(0x1f))
  const framed = [...malformed, LONG].map((line) => Buffer.concat([Buffer.from('<14>1 - - - - - - '), line]))
  const valid = (name: string) => Buffer.from(`<14>1 - - - - - - ${recordOf(name)}`)
  const all = [valid('a'), ...framed, valid('z')].flatMap((line) => [Buffer.from(`${line.length} `), line])
  await send(Buffer.concat(all))
  await send(Buffer.concat([Buffer.from(`${valid('b').length} `), valid('b'), Buffer.from('99 <14>1 half')]))
  await send(Buffer.from('1234567890 x'))
  await tcp.read(2 + framed.length + 3)
  tcp.stop()
  t.match(await running, { end: 'done' })
  t.same(lines(folder), ['"a",200', '"b",200', '"z",200'])
  t.match(tcp.stats, { read: framed.length + 5, rejected: framed.length + 2, delivered: 3 })
  t.match(tcp.rejected.slice(-2).sort(), [
    /^syslog 127\.0\.0\.1: a message has an invalid length/,
    /^syslog 127\.0\.0\.1: the connection ended inside of a message/,
  ])

  const other = testFolder(t)
  const udp = sourceRun(other, { syslog: { listen: '127.0.0.1:0', protocol: 'udp' } })
  const receiving = udp.run()
  const to = Number(new URL(await udp.listening).port)
  const socket = createSocket('udp4')
  const datagrams = [valid('a'), Buffer.alloc(0), Buffer.of(0), Buffer.from('<'), ...framed.slice(0, -1), valid('z')]
  for (const bytes of datagrams) await new Promise((resolve) => socket.send(bytes, to, '127.0.0.1', resolve))
  socket.close()
  await udp.read(datagrams.length)
  udp.stop()
  t.match(await receiving, { end: 'done' })
  t.same(lines(other), VALID)
  t.equal(udp.stats.rejected, datagrams.length - 2)
})
