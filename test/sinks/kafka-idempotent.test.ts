import kafkajs, { type EachMessagePayload, type ICustomPartitioner } from 'kafkajs'
import t, { type Test } from 'tap'
import { kafka } from '../../sinks/kafka.js'
import { FixedPartitions } from '../../sinks/streams/fixed-partitions.js'
import { kafkaCluster, noKafka } from '../helpers/kafka-cluster.js'
import { kafkaGate } from '../helpers/kafka-gate.js'
import { batchOf, depsFor, never } from '../helpers/sink-deps.js'

t.test('a request whose response is lost is repeated under the same numbers', { skip: noKafka(t) }, async (t) => {
  const { brokers } = await kafkaCluster(t)
  const deps = await depsFor(brokers.map((broker) => Number(broker.split(':')[1])))
  const gate = kafkaGate(deps.egress)
  const open = (query: string) =>
    kafka.open(new URL(`kafka://${brokers[0]!}/logs?tls=false${query}`), { ...deps, egress: gate.egress })
  // Some with keys, some without: the library would choose other partitions for these each time.
  const text = Array.from(
    { length: 2000 },
    (_, n) => `{"n":${n}${n % 2 === 0 ? `,"ClientIP":"${n % 50}"` : ''},"x":"${'x'.repeat(900)}"}\n`,
  ).join('')
  const batch = batchOf(text, 'identity')

  gate.lost = 1
  await t.rejects(open('').write({ ...batch, name: 'plain' }, never), { name: 'SinkError', failure: 'transient' })
  gate.lost = 2
  await open('&idempotent=true').write({ ...batch, name: 'numbered' }, never)
  t.equal(gate.lost, 0)
  gate.lost = 1000
  await t.rejects(open('&idempotent=true').write({ ...batch, name: 'given up' }, never), {
    name: 'SinkError',
    failure: 'transient',
  })
  gate.lost = 0
  await open('&idempotent=true').write({ ...batch, name: 'end' }, never)

  const stored = await storedMessages(t, brokers, 'end', 2000)
  const numbered = stored.filter(({ batch }) => batch === 'numbered')
  t.ok(numbered.length > 2000, `${numbered.length} messages arrived`)
  t.equal(new Set(numbered.map(({ record }) => record)).size, 2000)
  // The mock brokers keep all messages; others drop those with numbers that they have seen.
  const kept = new Map(numbered.map(({ number, record }) => [number, record]))
  t.equal(kept.size, 2000)
  for (const { number, record } of numbered) if (kept.get(number) !== record) t.fail(`${number} has two messages`)
  t.equal(new Set(numbered.map(({ producer }) => producer)).size, 1)
  t.ok(Number(numbered[0]?.producer) >= 0)
  t.equal(stored.find(({ batch }) => batch === 'plain')?.producer, '-1')
})

t.test('a broker without a controller gives no producer ids', { skip: noKafka(t) }, async (t) => {
  const { brokers } = await kafkaCluster(t)
  const deps = await depsFor(brokers.map((broker) => Number(broker.split(':')[1])))
  const sink = kafka.open(new URL(`kafka://${brokers[0]!}/logs?tls=false&idempotent=true`), deps)
  await t.rejects(sink.check(never), { name: 'SinkError', failure: 'transient' })
})

t.test('messages keep their partitions, and all have to be confirmed', (t) => {
  let next = 0
  const create: ICustomPartitioner = () => () => next++
  const partitions = new FixedPartitions()
  const partitioner = partitions.of(create)()
  const messages = [{ value: 'a' }, { value: 'b' }]
  const choose = () => messages.map((message) => partitioner({ topic: 'logs', partitionMetadata: [], message }))
  t.same(choose(), [0, 1])
  t.same(choose(), [0, 1])
  const response = (partition: number) => ({ topicName: 'logs', partition, errorCode: 0 })
  t.equal(partitions.confirmed(messages, [response(1), response(0)]), true)
  t.equal(partitions.confirmed(messages, [response(1)]), false)
  t.end()
})

/** A message as the brokers have stored it. */
interface StoredMessage {
  readonly batch: string
  readonly record: string
  readonly producer: string
  /** Partition, producer and sequence. */
  readonly number: string
}

/** Reads the topic until there are `count` messages of the batch `last`. */
async function storedMessages(
  t: Test,
  brokers: readonly string[],
  last: string,
  count: number,
): Promise<StoredMessage[]> {
  const { Kafka, logLevel } = kafkajs
  const consumer = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).consumer({ groupId: 'stored' })
  t.teardown(async () => await consumer.disconnect())
  await consumer.connect()
  await consumer.subscribe({ topic: 'logs', fromBeginning: true })
  const found: StoredMessage[] = []
  let left = count
  await new Promise<void>((resolve, reject) => {
    const eachMessage = async ({ partition, message }: EachMessagePayload) => {
      const { batchContext: context, offset } = message as unknown as Numbered
      const { producerId, producerEpoch, firstSequence, firstOffset } = context
      const { batch, record } = message.headers ?? {}
      const sequence = firstSequence + Number(BigInt(offset) - BigInt(firstOffset))
      found.push({
        batch: String(batch),
        record: String(record),
        producer: producerId,
        number: `${partition} ${producerId} ${producerEpoch} ${sequence}`,
      })
      if (String(batch) === last && --left === 0) resolve()
    }
    consumer.run({ eachMessage }).catch(reject)
  })
  return found
}

/** What the types of the library leave out. */
interface Numbered {
  readonly offset: string
  readonly batchContext: {
    readonly producerId: string
    readonly producerEpoch: number
    readonly firstSequence: number
    readonly firstOffset: string
  }
}
