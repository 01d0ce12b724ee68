import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Test } from 'tap'
import { redisServer, type RedisServer } from './redis.js'
import { until } from './web.js'

/** Servers of which one takes over for another. */
export interface RedisGroup {
  /** URL for the store. */
  readonly url: string
  /** The server that has edged's keys now. */
  owner(): Promise<RedisServer>
}

async function servers(t: Test, folder: string, count: number, ...more: string[]): Promise<RedisServer[]> {
  return await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const own = join(folder, String(n))
      mkdirSync(own)
      const server = await redisServer(own, '--repl-diskless-sync-delay', '0', '--save', '', ...more)
      t.teardown(async () => await server.kill())
      return server
    }),
  )
}

async function ask<T>(port: number, run: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(port, '127.0.0.1', { retryStrategy: () => null })
  redis.on('error', () => undefined)
  try {
    return await run(redis)
  } finally {
    redis.disconnect()
  }
}

/** A master with two replicas, watched by three sentinels. */
export async function sentinelGroup(t: Test, folder: string): Promise<RedisGroup> {
  const [master, ...replicas] = await servers(t, folder, 3)
  for (const { port } of replicas) await ask(port, async (redis) => await redis.replicaof('127.0.0.1', master!.port))
  await until(async () =>
    (await ask(master!.port, async (redis) => await redis.info('replication'))).includes('connected_slaves:2'),
  )
  const sentinels = await Promise.all(
    [0, 1, 2].map(async (n) => {
      const file = join(folder, `sentinel-${n}.conf`)
      const lines = [
        `sentinel monitor main 127.0.0.1 ${master!.port} 2`,
        'sentinel down-after-milliseconds main 1000',
        'sentinel failover-timeout main 5000',
      ]
      writeFileSync(file, `${lines.join('\n')}\n`)
      const sentinel = await redisServer(folder, { sentinel: file })
      t.teardown(async () => await sentinel.kill())
      return sentinel
    }),
  )
  const known = async ({ port }: RedisServer) =>
    await ask(port, async (redis) => JSON.stringify(await redis.call('SENTINEL', 'MASTER', 'main')))
  for (const sentinel of sentinels)
    await until(async () => /"num-slaves","2","num-other-sentinels","2"/.test(await known(sentinel)))
  const all = [master!, ...replicas]
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/main/0`,
    async owner() {
      const [, port] = await ask(
        sentinels[0]!.port,
        async (redis) => (await redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main')) as [string, string],
      )
      return all.find((server) => server.port === Number(port))!
    },
  }
}

/** Three masters, and a replica of the one that has edged's keys. */
export async function clusterGroup(t: Test, folder: string): Promise<RedisGroup> {
  const all = await servers(t, folder, 4, '--cluster-enabled', 'yes', '--cluster-node-timeout', '1000')
  const masters = all.slice(0, 3)
  const created = spawnSync(
    'redis-cli',
    ['--cluster', 'create', ...masters.map(({ port }) => `127.0.0.1:${port}`), '--cluster-yes'],
    { encoding: 'utf8', timeout: 60_000 },
  )
  if (created.status !== 0) throw new Error(`the cluster was not created: ${created.stdout} ${created.stderr}`)
  const ownerPort = async (seed: number) =>
    await ask(seed, async (redis) => {
      const slot = await redis.cluster('KEYSLOT', '{edged}')
      const range = (await redis.cluster('SLOTS')).find(([from, to]) => from <= slot && slot <= to)
      return range?.[2]?.[1] ?? 0
    })
  const [owner, spare] = [await ownerPort(masters[0]!.port), all[3]!]
  const id = await ask(owner, async (redis) => await redis.cluster('MYID'))
  await ask(spare.port, async (redis) => {
    await redis.cluster('MEET', '127.0.0.1', masters[0]!.port)
    await until(async () => (await redis.cluster('REPLICATE', id).catch(() => '')) === 'OK')
    await until(async () => /master_link_status:up/.test(await redis.info('replication')))
  })
  for (const { port } of all)
    await until(
      async () =>
        await ask(port, async (redis) => /cluster_state:ok[^]*cluster_known_nodes:4/.test(await redis.cluster('INFO'))),
    )
  return {
    url: `redis+cluster://${masters.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    async owner() {
      const seed = masters.find(({ port }) => port !== owner)!
      const port = await ownerPort(seed.port)
      return all.find((server) => server.port === port)!
    },
  }
}
