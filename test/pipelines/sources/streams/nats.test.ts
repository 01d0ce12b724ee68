import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import t, { type Test } from 'tap'
import { testFolder } from '../../../helpers/folder.js'
import { httpReceiver } from '../../../helpers/http-receiver.js'
import { natsClient, natsServer, NO_NATS } from '../../../helpers/nats.js'
import { lines, recordOf, sourceRun } from '../source-helper.js'

t.test('nats', { skip: NO_NATS }, async (t) => {
  const begin = async (t: Test, ...more: string[]) => {
    const folder = testFolder(t, { nats: {} })
    const server = await natsServer(join(folder, 'nats'), ...more)
    t.teardown(() => server.kill())
    const source = (options: object = {}) => ({ nats: { servers: [server.url], stream: 'S', ...options } })
    return { folder, server, source }
  }
  const withStream = async (client: NatsConnection) => {
    const manager = await jetstreamManager(client)
    await manager.streams.add({ name: 'S', subjects: ['logs.>'] })
    const publish = async (texts: readonly string[]) =>
      await Promise.all(texts.map(async (text) => await jetstream(client).publish('logs.a', text)))
    return { manager, publish }
  }
  const acknowledged = async (manager: Awaited<ReturnType<typeof jetstreamManager>>, sequence: number) => {
    const floor = async () =>
      await manager.consumers.info('S', 'edged').then(
        (info) => info.ack_floor.stream_seq,
        () => 0,
      )
    while ((await floor()) < sequence) await setTimeout(20)
  }

  t.test('a stream is read from its beginning, and acknowledged', async (t) => {
    const { folder, server, source } = await begin(t)
    const { manager, publish } = await withStream(await natsClient(t, server))
    await publish([recordOf('a'), 'nonsense', recordOf('b')])
    const { run, stop, stats, rejected } = sourceRun(folder, source())
    const running = run()
    await acknowledged(manager, 3)
    // A message that arrives alone is acknowledged without waiting for others.
    await publish([recordOf('c')])
    await acknowledged(manager, 4)
    stop()
    t.match(await running, { end: 'done' })
    t.strictSame(lines(folder), ['"a",200', '"b",200', '"c",200'])
    t.match(stats, { read: 4, rejected: 1 })
    t.match(rejected, [/^S edged 2: /])
  })

  t.test('what was not acknowledged is delivered again, also after a restart of the server', async (t) => {
    const { folder, server, source } = await begin(t)
    const { manager, publish } = await withStream(await natsClient(t, server))
    await manager.consumers.add('S', { durable_name: 'edged', ack_policy: AckPolicy.Explicit, ack_wait: 1e9 })
    await publish(['a', 'b', 'c'].map((id) => recordOf(id)))
    // A reader that does not exist any more.
    const consumer = await jetstream(await natsClient(t, server)).consumers.get('S', 'edged')
    await consumer.next()
    const { run, stop, read, messages } = sourceRun(folder, source())
    const running = run()
    await read(3)
    await acknowledged(manager, 3)
    await server.kill()
    while (messages.length === 0) await setTimeout(20)
    await server.start()
    const later = await withStream(await natsClient(t, server))
    await later.publish([recordOf('d')])
    await acknowledged(later.manager, 4)
    stop()
    t.match(await running, { end: 'done' })
    t.strictSame([...new Set(lines(folder))], ['"a",200', '"b",200', '"c",200', '"d",200'])
    t.match(messages[0], /^p: cannot read the stream S of nats:.*; trying again$/)
    t.match(messages.at(-1), /^p: reading the stream S of nats:\S+ again$/)
  })

  t.test('a stream that was deleted and created again is read as a new one', async (t) => {
    const { folder, server, source } = await begin(t)
    const client = await natsClient(t, server)
    const before = await withStream(client)
    await before.publish(['a', 'b'].map((id) => recordOf(id)))
    const { run, stop, read } = sourceRun(folder, source())
    const running = run()
    await acknowledged(before.manager, 2)
    await before.manager.streams.delete('S')
    const { manager, publish } = await withStream(client)
    await manager.consumers.add('S', { durable_name: 'edged', ack_policy: AckPolicy.Explicit, ack_wait: 1e9 })
    await publish(['c', 'd'].map((id) => recordOf(id)))
    // A reader that does not exist any more: its message, which has a number that was seen, is delivered again.
    await (await jetstream(client).consumers.get('S', 'edged')).next()
    await read(4)
    await acknowledged(manager, 2)
    stop()
    t.match(await running, { end: 'done' })
    t.strictSame(lines(folder), ['"a",200', '"b",200', '"c",200', '"d",200'])
  })

  t.test('messages that limits of the stream deleted before they were read are counted', async (t) => {
    const { folder, server, source } = await begin(t)
    const client = await natsClient(t, server)
    const { manager, publish } = await withStream(client)
    await publish(Array.from({ length: 20 }, (_, at) => recordOf(`a${at}`)))
    await manager.streams.purge('S', { keep: 15 })
    const other = await manager.consumers.add('S', { durable_name: 'other', ack_policy: AckPolicy.Explicit })
    t.equal(other.delivered.stream_seq, 5, 'the place of a new consumer')
    const first = sourceRun(folder, source())
    const before = first.run()
    await acknowledged(manager, 20)
    await manager.streams.update('S', { max_msgs: 30 })
    await publish([recordOf('b')])
    await acknowledged(manager, 21)
    first.stop()
    t.match(await before, { end: 'done' })
    t.match(
      first.stats,
      { read: 16, losses: 0, lost: 0 },
      'what was deleted before there was a consumer is not missing',
    )

    // The server counts what it sends to a reader that is gone, and then deletes, as acknowledged.
    while ((await manager.consumers.info('S', 'edged')).num_waiting > 0) await setTimeout(20)
    await publish(Array.from({ length: 100 }, (_, at) => recordOf(`c${at}`)))
    const second = sourceRun(folder, source())
    const after = second.run()
    await acknowledged(manager, 121)
    await manager.streams.deleteMessage('S', 121)
    await publish([recordOf('d')])
    await acknowledged(manager, 122)
    second.stop()
    t.match(await after, { end: 'done' })
    t.match(second.stats, { read: 31, losses: 1, lost: 70 })
    t.match(second.messages, [/^p: 70 messages of the stream S of nats:\S+ were deleted before they were read$/])
  })

  t.test('a full spool makes the server wait, and loses nothing', async (t) => {
    const { folder, server, source } = await begin(t)
    const { manager, publish } = await withStream(await natsClient(t, server))
    await manager.consumers.add('S', { durable_name: 'edged', ack_policy: AckPolicy.Explicit, ack_wait: 1e9 })
    const ids = Array.from({ length: 5000 }, (_, at) => `${String(at).padStart(5, '0')}${'x'.repeat(500)}`)
    await publish(ids.map((id) => recordOf(id)))
    const receiver = await httpReceiver(t, { tls: false })
    receiver.fault = { status: 503 }
    const limits = 'spool_bytes: 1500KB\nmax_upload_records: 1000\n'
    const { run, stats, stop } = sourceRun(folder, source(), limits, 'p', `http://127.0.0.1:${receiver.port}/`)
    const running = run()
    while (receiver.failed < 3) await setTimeout(20)
    t.ok(stats.read < ids.length, `${stats.read} read`)
    receiver.fault = undefined
    await acknowledged(manager, ids.length)
    stop()
    t.match(await running, { end: 'done' })
    const delivered = receiver.accepted.flatMap(({ text }) => text.split('\n')).filter((line) => line !== '')
    t.equal(new Set(delivered).size, ids.length)
  })

  t.test(
    'what cannot be read is reported: a stream that does not exist, credentials, another type of consumer',
    async (t) => {
      const { folder, server, source } = await begin(t, '--user', 'edge', '--pass', 'secret')
      const denied = sourceRun(folder, source({ username: 'edge', password: 'wrong' }))
      await t.rejects(denied.run(), /the server rejected the credentials: /)
      const absent = sourceRun(folder, source({ username: 'edge', password: 'secret' }))
      const running = absent.run()
      while (absent.messages.length === 0) await setTimeout(20)
      absent.stop()
      await running
      t.match(absent.messages, [/^p: cannot read the stream S of nats:.*: stream not found; trying again$/])
      t.ok(server.url)
    },
  )
})
