import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import kafkajs from 'kafkajs'
import type { Test } from 'tap'

export interface KafkaMessage {
  /** The header of that name. */
  readonly batch: string
  readonly record: number
  readonly value: string
}

export interface KafkaCluster {
  /** `127.0.0.1:PORT` of each broker. */
  readonly brokers: readonly string[]
  /** Returns all messages of the topic `logs`, those of one partition in order. None of them has a key. */
  messages(): Promise<KafkaMessage[]>
}

let binary: string | undefined

/** Why a cluster cannot run: it is built for the tests. */
export function noKafka(t: Test): string | false {
  if (binary !== undefined) return false
  const folder = mkdtempSync(join(tmpdir(), 'kafka-mock-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const source = fileURLToPath(new URL('kafka-mock.c', import.meta.url))
  try {
    execFileSync('gcc', ['-o', join(folder, 'mock'), source, '-lrdkafka'], { stdio: 'ignore' })
    binary = join(folder, 'mock')
    return false
  } catch {
    return 'gcc or librdkafka-dev is not installed'
  }
}

/** Starts a cluster of librdkafka's mock brokers with the topic `logs`. Only if {@link noKafka} allows it. */
export async function kafkaCluster(t: Test): Promise<KafkaCluster> {
  if (binary === undefined) throw new Error('there is no cluster')
  const child = spawn(binary, ['logs'], { stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.stdin.end()
    await ended
  })
  const reported = createInterface(child.stdout)[Symbol.asyncIterator]()
  const line = async (): Promise<string> => String((await reported.next()).value)
  return {
    brokers: (await line()).split(','),
    async messages() {
      child.stdin.write('r')
      const found: KafkaMessage[] = []
      for (let text = await line(); text !== ''; text = await line()) {
        const [, batch = '', record = '', value = ''] = /^(\S+) (\d+) (.*)$/.exec(text) ?? []
        if (value === '') throw new Error(`a message of something else: ${text}`)
        found.push({ batch, record: Number(record), value })
      }
      return found
    },
  }
}

/** Sends messages with these values to the topic `logs`, spread over its partitions. */
export async function produce(brokers: readonly string[], values: readonly (string | Buffer | null)[]): Promise<void> {
  const { CompressionTypes, Kafka, logLevel, Partitioners } = kafkajs
  const client = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING })
  const producer = client.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  await producer.connect()
  const messages = values.map((value, at) => ({ key: null, value, partition: at % PARTITIONS }))
  await producer.send({ topic: 'logs', messages, acks: -1, compression: CompressionTypes.GZIP })
  await producer.disconnect()
}

/** Sends messages to one partition of the topic `logs`, not compressed. */
export async function produceTo(
  brokers: readonly string[],
  partition: number,
  values: readonly string[],
): Promise<void> {
  const { Kafka, logLevel, Partitioners } = kafkajs
  const client = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING })
  const producer = client.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  await producer.connect()
  await producer.send({ topic: 'logs', messages: values.map((value) => ({ value, partition })), acks: -1 })
  await producer.disconnect()
}

/** Returns the offsets that the partitions of the topic `logs` begin and end with. */
export async function offsetsOf(brokers: readonly string[]): Promise<readonly { low: string; high: string }[]> {
  const { Kafka, logLevel } = kafkajs
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  try {
    return (await admin.fetchTopicOffsets('logs')).toSorted((a, b) => a.partition - b.partition)
  } finally {
    await admin.disconnect()
  }
}

/** Reads messages of the topic `logs` until there are `count` of them. */
export async function keysOf(
  t: Test,
  brokers: readonly string[],
  count: number,
): Promise<{ readonly key: string | null; readonly partition: number }[]> {
  const { Kafka, logLevel } = kafkajs
  const consumer = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).consumer({ groupId: 'keys' })
  t.teardown(async () => await consumer.disconnect())
  await consumer.connect()
  await consumer.subscribe({ topic: 'logs', fromBeginning: true })
  const found: { key: string | null; partition: number }[] = []
  await new Promise<void>((resolve, reject) => {
    const eachMessage = async ({ partition, message }: { partition: number; message: { key: Buffer | null } }) => {
      found.push({ key: message.key?.toString() ?? null, partition })
      if (found.length === count) resolve()
    }
    consumer.run({ eachMessage }).catch(reject)
  })
  return found
}

/** Returns how many messages of the topic `logs` a group has committed. */
export async function committed(brokers: readonly string[], groupId: string): Promise<number> {
  const { Kafka, logLevel } = kafkajs
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  try {
    const [logs] = await admin.fetchOffsets({ groupId, topics: ['logs'] })
    return logs!.partitions.reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0)
  } finally {
    await admin.disconnect()
  }
}

/** As in `kafka-mock.c`. */
const PARTITIONS = 3
