import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { createServer } from 'node:tls'
import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { freePort } from '../helpers/free-port.js'
import { httpReceiver } from '../helpers/http-receiver.js'
import { committed, kafkaCluster, noKafka, offsetsOf, produce, produceTo } from '../helpers/kafka-cluster.js'
import { saslBroker } from '../helpers/sasl-broker.js'
import { tcpGate } from '../helpers/tcp-gate.js'
import { CA_FILE, SERVER_TLS } from '../helpers/tls.js'
import { lines, recordOf, sourceRun } from '../pipelines/sources/source-helper.js'

t.test('kafka', { skip: noKafka(t) }, async (t) => {
  const source = (brokers: readonly string[], more: object = {}) => ({
    kafka: { brokers, topics: ['logs'], session_timeout: '6s', ...more },
  })

  t.test('a group reads a topic from its beginning, and goes on where it ended', async (t) => {
    const folder = testFolder(t)
    const { brokers } = await kafkaCluster(t)
    await produce(brokers, [recordOf('a'), recordOf('b'), 'nonsense', null, recordOf('c')])
    const first = sourceRun(folder, source(brokers))
    const running = first.run()
    await first.read(5)
    first.stop()
    t.match(await running, { end: 'done' })
    t.strictSame(lines(folder), ['"a",200', '"b",200', '"c",200'])
    t.match(first.stats, { read: 5, rejected: 2, delivered: 3 })
    t.match(first.rejected.toSorted(), [/logs\/\d \d: the message has no value/, /logs\/\d \d: /])

    await produce(brokers, [recordOf('d')])
    const second = sourceRun(folder, source(brokers))
    const again = second.run()
    await second.read(1)
    second.stop()
    t.match(await again, { end: 'done' })
    t.strictSame(lines(folder), ['"a",200', '"b",200', '"c",200', '"d",200'])
  })

  t.test('an unreachable broker is reported once, and read when it is there', async (t) => {
    const folder = testFolder(t)
    const { brokers } = await kafkaCluster(t)
    await produce(brokers, [recordOf('a')])
    const port = await freePort()
    const { run, read, stop, messages } = sourceRun(folder, source([`127.0.0.1:${port}`]))
    const running = run()
    while (messages.length === 0) await setTimeout(20)
    t.match(messages, [/^p: cannot read logs of 127\.0\.0\.1:\d+: .*ECONNREFUSED.*; trying again$/])
    const gate = await tcpGate(t, Number(brokers[0]!.split(':')[1]), port)
    await read(1)
    t.match(messages, [/cannot read/, /^p: reading logs of .* again$/])
    stop()
    t.match(await running, { end: 'done' })
    t.ok(gate.connections() >= 0)
  })

  t.test('messages that retention deleted before they were read are counted', async (t) => {
    const folder = testFolder(t)
    const { brokers } = await kafkaCluster(t)
    await produce(brokers, [recordOf('a'), recordOf('b'), recordOf('c')])
    const first = sourceRun(folder, source(brokers))
    const before = first.run()
    await first.read(3)
    while ((await committed(brokers, 'edged')) < 3) await setTimeout(20)
    // A mock broker keeps 5 MiB of a partition.
    const large = () => recordOf(randomBytes(450_000).toString('hex'))
    for (let at = 0; at < 2; at++) await produceTo(brokers, 0, [large()])
    await first.read(5)
    first.stop()
    t.match(await before, { end: 'done' })
    t.match(first.stats, { losses: 0, lost: 0 })

    for (let at = 0; at < 8; at++) await produceTo(brokers, 0, [large()])
    const [bounds] = await offsetsOf(brokers)
    const lost = Number(bounds!.low) - 3
    t.ok(lost > 0, `${lost} of 8 are deleted`)
    const second = sourceRun(folder, source(brokers))
    const after = second.run()
    await second.read(8 - lost)
    second.stop()
    t.match(await after, { end: 'done' })
    t.match(second.stats, { read: 8 - lost, losses: 1, lost })
    t.match(second.messages, [new RegExp(`^p: ${lost} messages of logs of .* were deleted before they were read$`)])
  })

  t.test('a full spool makes the brokers wait, and loses nothing', async (t) => {
    const folder = testFolder(t)
    const { brokers } = await kafkaCluster(t)
    const sent = Array.from({ length: 5000 }, (_, at) => recordOf(`${String(at).padStart(5, '0')}${'x'.repeat(500)}`))
    await produce(brokers, sent)
    const receiver = await httpReceiver(t, { tls: false })
    receiver.fault = { status: 503 }
    const limits = 'spool_bytes: 1500KB\nmax_upload_records: 1000\n'
    const to = `http://127.0.0.1:${receiver.port}/`
    const { run, stats, stop } = sourceRun(folder, source(brokers), limits, 'p', to)
    const running = run()
    while (receiver.failed < 2) await setTimeout(20)
    t.ok(stats.read < sent.length, `${stats.read} read`)
    receiver.fault = undefined
    while (stats.delivered < sent.length) await setTimeout(20)
    stop()
    t.match(await running, { end: 'done' })
    const delivered = receiver.accepted.flatMap(({ text }) => text.split('\n')).filter((line) => line !== '')
    t.equal(new Set(delivered).size, sent.length)
  })

  t.test('rejected credentials end the run', async (t) => {
    const folder = testFolder(t)
    const said: string[] = []
    const broker = saslBroker('PLAIN', () => (text) => (said.push(text), undefined))
    const server = createServer(SERVER_TLS, broker).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const sasl = { mechanism: 'plain', username: 'edge', password: 'secret' }
    const brokers = [`localhost:${(server.address() as AddressInfo).port}`]
    const { run } = sourceRun(folder, source(brokers, { sasl, tls: { ca_file: CA_FILE } }))
    await t.rejects(run(), /^the broker rejected the credentials: /)
    t.equal(said[0], '\0edge\0secret')
  })
})
