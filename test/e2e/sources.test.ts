import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { AckPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { Redis } from 'ioredis'
import t from 'tap'
import { sourceContract, type SourcePlace } from '../contracts/source.js'
import { freePort } from '../helpers/free-port.js'
import { committed, kafkaCluster, noKafka, produce } from '../helpers/kafka-cluster.js'
import { natsClient, natsServer, NO_NATS } from '../helpers/nats.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { NO_SWIFT, swiftServer } from '../helpers/swift.js'
import { until } from '../helpers/web.js'

t.test('kafka', { skip: noKafka(t) }, async (t) => {
  sourceContract(t, {
    shared: true,
    async place(t) {
      const { brokers } = await kafkaCluster(t)
      let sent = 0
      return {
        source: { kafka: { brokers, topics: ['logs'], session_timeout: '6s' } },
        async send(records) {
          sent += records.length
          await produce(brokers, records)
        },
        drained: async () => await until(async () => (await committed(brokers, 'edged')) >= sent),
      }
    },
  })
})

t.test('nats', { skip: NO_NATS }, async (t) => {
  sourceContract(t, {
    shared: true,
    async place(t, folder) {
      const server = await natsServer(join(folder, 'nats'))
      t.teardown(() => server.kill())
      const client = await natsClient(t, server)
      const manager = await jetstreamManager(client)
      await manager.streams.add({ name: 'S', subjects: ['logs'] })
      await manager.consumers.add('S', { durable_name: 'edged', ack_policy: AckPolicy.Explicit, ack_wait: 1e9 })
      let sent = 0
      return {
        source: { nats: { servers: [server.url], stream: 'S' } },
        async send(records) {
          sent += records.length
          await Promise.all(records.map(async (record) => await jetstream(client).publish('logs', record)))
        },
        drained: async () =>
          await until(async () => (await manager.consumers.info('S', 'edged')).ack_floor.stream_seq >= sent),
      }
    },
  })
})

t.test('redis_stream', { skip: NO_REDIS }, async (t) => {
  sourceContract(t, {
    shared: true,
    async place(t, folder) {
      const server = await redisServer(folder)
      t.teardown(() => server.kill())
      const client = new Redis(server.url)
      t.teardown(() => client.disconnect())
      await client.xgroup('CREATE', 'logs', 'edged', '0', 'MKSTREAM')
      return {
        source: { redis_stream: server.url, key: 'logs' },
        async send(records) {
          await Promise.all(records.map(async (record) => await client.xadd('logs', '*', 'record', record)))
        },
        drained: async () =>
          await until(async () => {
            const [group = []] = (await client.xinfo('GROUPS', 'logs')) as (string | number)[][]
            const value = (name: string) => group[group.indexOf(name) + 1]
            return value('pending') === 0 && value('lag') === 0
          }),
      }
    },
  })
})

t.test('s3', { skip: NO_SWIFT }, async (t) => {
  const { port, id, secret } = await swiftServer(t)
  sourceContract(t, {
    async place(t) {
      const endpoint = `http://127.0.0.1:${port}`
      const credentials = { accessKeyId: id, secretAccessKey: secret }
      const client = new S3Client({
        region: 'us-east-1',
        endpoint,
        credentials,
        forcePathStyle: true,
        requestChecksumCalculation: 'WHEN_REQUIRED',
      })
      t.teardown(() => client.destroy())
      await client.send(new CreateBucketCommand({ Bucket: 'contract' }))
      const keys = { 'access-key-id': id, 'secret-access-key': secret }
      let sent = 0
      return {
        source: { s3: { bucket: 'contract', endpoint, ...keys, follow: true, interval: '100ms' } },
        ending: { s3: { bucket: 'contract', endpoint, ...keys } },
        async send(records) {
          const Key = String(sent++).padStart(5, '0')
          await client.send(new PutObjectCommand({ Bucket: 'contract', Key, Body: records.join('\n') }))
        },
        // A run begins with what its ledger does not have.
        drained: () => Promise.resolve(),
      }
    },
  })
})

/** Posts until a run has acknowledged. */
const posted = (url: string, body: (records: readonly string[]) => string): SourcePlace['send'] =>
  async function send(records) {
    const headers = { 'content-type': 'application/json' }
    const post = async () => await fetch(url, { method: 'POST', headers, body: body(records) })
    while (
      !(await post().then(
        async (response) => (await response.text(), response.ok),
        () => false,
      ))
    )
      await setTimeout(50)
  }

for (const [name, source, path, body] of [
  ['http', (listen: string) => ({ http: listen }), '', (records: readonly string[]) => records.join('\n')],
  [
    'otlp',
    (listen: string) => ({ otlp: { listen } }),
    'v1/logs',
    (records: readonly string[]) =>
      JSON.stringify({
        resourceLogs: [{ scopeLogs: [{ logRecords: records.map((text) => ({ body: { stringValue: text } })) }] }],
      }),
  ],
] as const)
  t.test(name, async (t) => {
    sourceContract(t, {
      async place() {
        const listen = `127.0.0.1:${await freePort()}`
        return {
          source: source(listen),
          send: posted(`http://${listen}/${path}`, body),
          drained: () => Promise.resolve(),
        }
      },
    })
  })
