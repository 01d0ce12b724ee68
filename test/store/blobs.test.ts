import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import t from 'tap'
import { silentLog } from '../../src/core/log.js'
import { WriteHealth } from '../../src/disk/write-health.js'
import { fileBlobs } from '../../src/store/blobs/file-blobs.js'
import { memoryBlobs } from '../../src/store/blobs/memory-blobs.js'
import { redisBlobs } from '../../src/store/redis/blobs.js'
import { blobsContract } from '../contracts/blobs.js'
import { FaultyDisk } from '../helpers/faulty-disk.js'
import { testFolder } from '../helpers/folder.js'
import { HandClock } from '../helpers/hand-clock.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'

t.test('blobs in files', async (t) => {
  await blobsContract(t, (clock) => fileBlobs(join(testFolder(t), 'blobs'), clock))
})

t.test('blobs in memory', async (t) => {
  await blobsContract(t, memoryBlobs)
})

t.test('blobs in Redis', { skip: NO_REDIS }, async (t) => {
  const server = await redisServer(testFolder(t))
  const redis = new Redis(server.url)
  t.teardown(async () => {
    redis.disconnect()
    await server.kill()
  })
  await blobsContract(t, (clock) => redisBlobs(redis, clock))
})

t.test('a damaged file is noticed, an unfinished one is not a blob and is removed', async (t) => {
  const folder = testFolder(t)
  const clock = new HandClock(Date.now())
  const blobs = fileBlobs(folder, clock)
  const name = await blobs.put(Buffer.from('as it was'))
  const shard = join(folder, name.slice(0, 2))
  writeFileSync(join(shard, name), 'as it is now')
  await t.rejects(blobs.get(name), { message: /is damaged/ })
  writeFileSync(join(shard, `${name}.1a2b3c.tmp`), 'half')
  clock.move(120_000)
  await blobs.collect(new Set([name]), 60_000)
  t.same(readdirSync(shard), [name])
})

t.test('blobs that cannot be written are unavailable until one is written', async (t) => {
  const faults = new FaultyDisk()
  const { disk } = faults
  const clock = new HandClock()
  const health = new WriteHealth('the store', { disk, clock, log: silentLog })
  t.teardown(async () => await health.close())
  const blobs = fileBlobs(testFolder(t), clock, { disk, health })
  await blobs.put(Buffer.from('a'))
  faults.failSyncs = 'EIO'
  await t.rejects(blobs.put(Buffer.from('b')))
  t.match(health.unavailable, /^the store cannot write: EIO/)
  faults.failSyncs = undefined
  await blobs.put(Buffer.from('b'))
  t.equal(health.unavailable, undefined)
})
