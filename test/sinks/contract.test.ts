import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { Redis } from 'ioredis'
import { t, type Test } from 'tap'
import { openSink } from '../../sinks/index.js'
import { stdoutTo } from '../../sinks/stdout.js'
import { sinkContract, type SinkPlace } from '../contracts/sink.js'
import { blobFake } from '../helpers/blob-fake.js'
import { openEgress, testEgress } from '../helpers/egress.js'
import { testFolder } from '../helpers/folder.js'
import { httpReceiver, type Fault } from '../helpers/http-receiver.js'
import { kinesisFake } from '../helpers/kinesis-fake.js'
import { kafkaCluster, noKafka, type KafkaMessage } from '../helpers/kafka-cluster.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'
import { KEYS, s3Fake } from '../helpers/s3-fake.js'
import { unzipped } from '../helpers/sink-deps.js'
import { tcpGate, type TcpGate } from '../helpers/tcp-gate.js'

const KEY_PARAMETERS = `access-key-id=${KEYS.id}&secret-access-key=${encodeURIComponent(KEYS.secret)}`
const KEY_SECRETS = [KEYS.id, KEYS.secret, encodeURIComponent(KEYS.secret)]

/** Texts of the batches among objects, by name. */
const batches = (objects: ReadonlyMap<string, Buffer>): string[] =>
  [...objects]
    .filter(([name]) => name.endsWith('.log.gz'))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, bytes]) => unzipped(bytes))

t.test('s3', async (t) => {
  const place = async (t: Test): Promise<SinkPlace> => {
    const fake = await s3Fake(t)
    let failed = 0
    return {
      conf: `s3://logs/edge?region=us-east-1&${KEY_PARAMETERS}&endpoint=http://127.0.0.1:${fake.port}`,
      egress: await openEgress([fake.server]),
      secrets: KEY_SECRETS,
      delivered: () => batches(new Map([...fake.objects].map(([name, { body }]) => [name, body]))),
      fail: (fault) => {
        fake.fault = () => {
          if (fault !== undefined) failed += 1
          return fault && inS3(fault)
        }
      },
      failed: () => failed,
      connections: fake.connections,
    }
  }
  sinkContract(t, place, { overwrites: true })
})

function inS3(fault: Fault): ReturnType<Awaited<ReturnType<typeof s3Fake>>['fault']> {
  if (fault === 'reset') return { resetAfter: 10 }
  if (fault === 'hang') return 'silent'
  return { status: fault.status, code: 'Whatever', ...(fault.headers && { headers: fault.headers }) }
}

t.test('azure', async (t) => {
  const place = async (t: Test): Promise<SinkPlace> => {
    const fake = blobFake('a+b/c=')
    const receiver = await httpReceiver(t, { response: fake.response })
    return {
      conf: `azure://${receiver.host}/logs/edge?sv=2021-08-06&ss=b&srt=o&sp=w&se=2032-01-01&sig=a%2Bb%2Fc%3D`,
      egress: await openEgress([receiver.server]),
      secrets: ['a+b/c=', 'a%2Bb%2Fc%3D'],
      delivered: () => batches(fake.blobs),
      fail: (fault) => (receiver.fault = fault),
      failed: () => receiver.failed,
      connections: receiver.connections,
    }
  }
  sinkContract(t, place, { overwrites: true })
})

t.test('kinesis', async (t) => {
  const place = async (t: Test): Promise<SinkPlace> => {
    const fake = kinesisFake(KEYS.id, KEYS.secret)
    const receiver = await httpReceiver(t, { response: fake.response })
    return {
      conf: `kinesis://logs?region=us-east-1&${KEY_PARAMETERS}&endpoint=${receiver.host}`,
      egress: await openEgress([receiver.server]),
      secrets: KEY_SECRETS,
      delivered: () => fake.records.map(({ text }) => text),
      fail: (fault) => (receiver.fault = fault),
      failed: () => receiver.failed,
      connections: receiver.connections,
    }
  }
  sinkContract(t, place, { overwrites: false })
})

/** Faults of a protocol without answers such as those of HTTP. */
const BROKEN = { overwrites: false, retryAfter: false, faults: { transient: 'reset' } } as const

const failing = (gate: TcpGate) => (fault: Fault | undefined) => {
  gate.fault = fault === 'hang' || fault === undefined ? fault : 'reset'
}

t.test('syslog', async (t) => {
  const place = async (t: Test): Promise<SinkPlace> => {
    const said: string[] = []
    const server = createServer((socket: Socket) => {
      const pieces: Buffer[] = []
      socket.on('data', (piece: Buffer) => pieces.push(piece))
      socket.on('end', () => said.push(messages(Buffer.concat(pieces))))
      socket.on('error', () => {})
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const gate = await tcpGate(t, (server.address() as AddressInfo).port)
    return {
      conf: `syslog://receiver.test:${gate.port}?tls=false`,
      egress: await openEgress([gate.server]),
      secrets: [],
      delivered: () => said,
      fail: failing(gate),
      failed: () => gate.failed,
      connections: gate.connections,
    }
  }
  sinkContract(t, place, BROKEN)
})

/** The lines in frames that are counted in octets (RFC 6587, 3.4.1), headers taken off. */
function messages(bytes: Buffer): string {
  let text = ''
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(' ', at)
    const end = space + 1 + Number(bytes.subarray(at, space))
    const header = /^<134>1 \S+ \S+ edged \S+ - \[meta sequenceId="\d+"\] /.exec(bytes.toString('utf8', space + 1, end))
    if (end > bytes.length || header === null) throw new Error('a frame that is none')
    text += `${bytes.toString('utf8', space + 1 + header[0].length, end)}\n`
    at = end
  }
  return text
}

t.test('redis streams', { skip: NO_REDIS }, async (t) => {
  const server = await redisServer(testFolder(t), '--appendonly', 'no')
  t.teardown(() => server.kill())
  const client = new Redis(server.port, '127.0.0.1')
  t.teardown(() => client.disconnect())
  const place = async (t: Test): Promise<SinkPlace> => {
    await client.flushall()
    await client.call('ACL', 'SETUSER', 'edge', 'on', '>pass+word', '~*', '+@all')
    const gate = await tcpGate(t, server.port)
    return {
      conf: `redis://receiver.test:${gate.port}?stream=logs&username=edge&password=pass%2Bword`,
      egress: await openEgress([gate.server]),
      secrets: ['pass+word', 'pass%2Bword'],
      delivered: async () => {
        const texts: string[] = []
        for (const [, fields] of await client.xrange('logs', '-', '+')) {
          if (fields[3] === '0') texts.push('')
          texts.push(`${texts.pop()}${fields[5]}\n`)
        }
        return texts
      },
      fail: failing(gate),
      failed: () => gate.failed,
      connections: gate.connections,
    }
  }
  sinkContract(t, place, BROKEN)
})

t.test('kafka', { skip: noKafka(t) }, async (t) => {
  const place = async (t: Test): Promise<SinkPlace> => {
    const cluster = await kafkaCluster(t)
    const ports = cluster.brokers.map((broker) => Number(broker.split(':')[1]))
    // Brokers tell where they are: only what asks for that passes the gate.
    const gate = await tcpGate(t, ports[0]!)
    return {
      conf: `kafka://127.0.0.1:${gate.port}/logs?tls=false`,
      egress: await testEgress({ allow_cidrs: [gate.port, ...ports].map((port) => `127.0.0.1/32:${port}`) }),
      secrets: [],
      delivered: async () => inBatches(await cluster.messages()),
      fail: failing(gate),
      failed: () => gate.failed,
      connections: gate.connections,
    }
  }
  sinkContract(t, place, BROKEN)
})

/** The texts of batches by name, each as often as it came. */
function inBatches(messages: readonly KafkaMessage[]): string[] {
  const texts = new Map<string, string>()
  const times = new Map<string, number>()
  for (const { batch, record, value } of messages.toSorted((a, b) => a.record - b.record)) {
    const time = times.get(`${batch} ${record}`) ?? 0
    times.set(`${batch} ${record}`, time + 1)
    texts.set(`${batch} ${time}`, `${texts.get(`${batch} ${time}`) ?? ''}${value}\n`)
  }
  return [...texts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
}

/** It is refused: a file stands where the folder should be. */
const IN_THE_WAY: Fault = { status: 403 }

for (const gzip of [false, true])
  t.test(gzip ? 'files, gzipped' : 'files', async (t) => {
    const place = async (t: Test): Promise<SinkPlace> => {
      const root = testFolder(t)
      const folder = join(root, 'logs')
      const conf = `file://${folder}/all${gzip ? '?gzip=true' : ''}`
      let failed = 0
      return {
        conf,
        egress: await testEgress(),
        secrets: [],
        delivered() {
          if (!existsSync(`${folder}/all`)) return []
          const files = readdirSync(`${folder}/all`).sort()
          return files.map((name) => {
            const bytes = readFileSync(`${folder}/all/${name}`)
            return gzip ? unzipped(bytes) : String(bytes)
          })
        },
        fail(fault) {
          rmSync(folder, { recursive: true, force: true })
          if (fault === undefined) return
          failed += 1
          mkdirSync(folder)
          writeFileSync(`${folder}/all`, '')
        },
        failed: () => failed,
        connections: () => 0,
        open: (deps) => openSink(conf, { ...deps, allowFileUnder: [root] }),
      }
    }
    sinkContract(t, place, { overwrites: true, local: true, faults: { refused: IN_THE_WAY } })
  })

t.test('standard output', async (t) => {
  const place = async (t: Test): Promise<SinkPlace> => {
    const stream = new PassThrough()
    const pieces: Buffer[] = []
    stream.on('data', (piece: Buffer) => pieces.push(piece))
    t.teardown(() => stream.destroy())
    return {
      conf: 'stdout:',
      egress: await testEgress(),
      secrets: [],
      delivered: () => [Buffer.concat(pieces).toString()],
      fail: () => {},
      failed: () => 0,
      connections: () => 0,
      open: (deps) => stdoutTo(() => stream).open(new URL('stdout:'), deps),
    }
  }
  sinkContract(t, place, { overwrites: false, local: true, joined: true, faults: {} })
})
