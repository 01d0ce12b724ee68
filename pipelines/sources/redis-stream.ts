/** A Redis stream, read as one consumer of a group: entries are acknowledged once their records are safe on disk. */
import { hostname } from 'node:os'
import type { Redis } from 'ioredis'
import { messageOf } from '../../src/core/errors.js'
import { MalformedRecord, UnfitRecord } from '../records/index.js'
import type { Input } from './input.js'
import { MAX_LINE_BYTES } from './line-blocks.js'
import { spoolInput, type TakingDeps } from './spool-input.js'
import { commitPatiently } from './record-intake.js'

export interface RedisStreamOptions {
  readonly url: string
  readonly key: string
  readonly group?: string | undefined
  readonly consumer?: string | undefined
  /** The field of an entry that is the record. */
  readonly field?: string | undefined
}

type Entry = readonly [id: Buffer, fields: readonly Buffer[] | null]

/** Entries of one read: with records of a mebibyte, what a read brings stays bounded. */
const COUNT = 64
/** A read waits so long for entries: a stop is noticed after it at the latest. */
const BLOCK_MS = 1000

/** Records of a stream. What was read before a crash and not acknowledged is read again. */
export async function redisStreamInput(options: RedisStreamOptions, deps: TakingDeps): Promise<Input> {
  const { url, key, group = 'edged', consumer = hostname(), field = 'record' } = options
  const { stats, clock } = deps
  const { Redis } = await import('ioredis')
  const redis = new Redis(url, { maxRetriesPerRequest: null, lazyConnect: true })
  let refusal: Error | undefined
  redis.on('error', (error) => {
    refusal ??= error
    deps.log.warn({ event: 'redis_stream', key, error: error.message })
  })
  try {
    await redis.connect()
    await makeGroup(redis, key, group)
  } catch (error) {
    redis.disconnect()
    // What comes of a command is told as a closed connection, whatever closed it.
    const why = messageOf(refusal ?? error)
    throw new Error(`the stream ${key} of ${new URL(url).host} cannot be read: ${why}`, { cause: error })
  }
  const wanted = Buffer.from(field)
  return await spoolInput(deps, {
    endless: true,
    async take(open, signal) {
      const writer = open()
      // From the beginning of what this consumer has not acknowledged, then what is new.
      let from = '0'
      try {
        while (!signal.aborted) {
          const entries = await read(redis, { key, group, consumer, from })
          if (entries.length === 0) {
            from = '>'
            continue
          }
          for (const [id, fields] of entries) {
            stats.read++
            try {
              add(writer, recordOf(fields, wanted, field))
            } catch (error) {
              if (!(error instanceof MalformedRecord || error instanceof UnfitRecord)) throw error
              stats.reject(`${key} ${id.toString()}`, error.message)
            }
          }
          if (writer.count > 0) await commitPatiently(writer, clock, signal)
          const ids = entries.map(([id]) => id)
          await redis.xack(key, group, ...ids)
          if (from !== '>') from = ids.at(-1)!.toString()
        }
      } finally {
        redis.disconnect()
      }
    },
  })
}

async function makeGroup(redis: Redis, key: string, group: string): Promise<void> {
  try {
    await redis.xgroup('CREATE', key, group, '0', 'MKSTREAM')
  } catch (error) {
    if (!String(error).includes('BUSYGROUP')) throw error
  }
}

async function read(
  redis: Redis,
  { key, group, consumer, from }: { key: string; group: string; consumer: string; from: string },
): Promise<readonly Entry[]> {
  const found: unknown = await redis.callBuffer(
    'XREADGROUP',
    'GROUP',
    group,
    consumer,
    'COUNT',
    COUNT,
    'BLOCK',
    BLOCK_MS,
    'STREAMS',
    key,
    from,
  )
  // Per stream its name and its entries; nothing where the wait was in vain.
  const [stream] = (found ?? []) as readonly (readonly [Buffer, readonly Entry[]])[]
  return stream?.[1] ?? []
}

function recordOf(fields: readonly Buffer[] | null, wanted: Buffer, name: string): Buffer {
  // Deleted in between: only its id is left.
  const found = fields ?? []
  for (let at = 0; at < found.length; at += 2) if (found[at]!.equals(wanted)) return found[at + 1]!
  throw new UnfitRecord(`the entry has no ${name}`)
}

function add(writer: { add(bytes: Uint8Array): void }, record: Buffer): void {
  if (record.length > MAX_LINE_BYTES) throw new UnfitRecord(`the record is longer than ${MAX_LINE_BYTES} bytes`)
  writer.add(record)
}
