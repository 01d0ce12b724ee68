import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis'
import type { RedisTarget } from './url.js'

/**
 * Prefix of all keys in a cluster. Its hash tag places them in one slot, because a batch is atomic only within a slot. So
 * one node does the work, and another one takes over for it.
 */
export const CLUSTER_PREFIX = '{edged}'

const RETRY_MS = 250
const ASK_TIMEOUT_MS = 2000
const CLOSED = 'Connection is closed.'

type Node = RedisTarget['hosts'][number]

/** The server that has edged's keys, according to sentinels or nodes of the cluster. */
export interface Owner {
  readonly owner: Node
  /** Servers that can be asked in the next attempt. */
  readonly seeds: readonly Node[]
}

/** Asks the sentinels or nodes sequentially. If one fails, asks the next. Returns undefined if none knows the owner. */
export async function findOwner(
  target: RedisTarget,
  seeds: readonly Node[] = target.hosts,
  failed: (error: Error) => void = () => undefined,
): Promise<Owner | undefined> {
  for (const seed of seeds)
    try {
      return await ownerAt(seed, target)
    } catch (error) {
      failed(error as Error)
    }
  return undefined
}

/**
 * Returns a connector of ioredis that searches the owner each time it connects. The connector of ioredis for sentinels
 * prints errors and does not end. `failed` is called for each server that was asked and does not know.
 */
export function ownerConnector(
  target: RedisTarget,
  failed: (error: Error) => void,
): NonNullable<RedisOptions['Connector']> {
  let seeds = target.hosts
  return class extends AbstractConnector {
    constructor(options: unknown) {
      super((options as RedisOptions).disconnectTimeout ?? ASK_TIMEOUT_MS)
    }

    /** Never rejects unless it is closed, because ioredis would not connect again. */
    async connect(): Promise<ReturnType<typeof connect>> {
      this.connecting = true
      for (;;) {
        const found = await findOwner(target, seeds, failed)
        if (!this.connecting) throw new Error(CLOSED)
        if (found) {
          const { host, port } = found.owner
          seeds = found.seeds
          const stream = target.tls ? connectTls({ host, port, ...target.tls }) : connect({ host, port })
          stream.once('error', (error: Error) => (this.firstError = error))
          this.stream = stream
          return stream
        }
        seeds = [...target.hosts, ...seeds.filter((node) => !target.hosts.some((host) => isSame(host, node)))]
        await wait(RETRY_MS)
        if (!this.connecting) throw new Error(CLOSED)
      }
    }

    /** Leaves a server that is not a master. The server is asked again where the master is. */
    override check(info: { readonly role?: string }): boolean {
      return info.role === undefined || info.role === 'master'
    }
  }
}

const isSame = (a: Node, b: Node): boolean => a.host === b.host && a.port === b.port

async function ownerAt(
  seed: Node,
  { type, master, username, password, sentinelPassword, tls }: RedisTarget,
): Promise<Owner> {
  const [user, secret] = type === 'sentinel' ? [undefined, sentinelPassword] : [username, password]
  const redis = new Redis({
    ...seed,
    ...(user !== undefined && { username: user }),
    ...(secret !== undefined && { password: secret }),
    ...(tls && { tls }),
    lazyConnect: true,
    connectTimeout: ASK_TIMEOUT_MS,
    commandTimeout: ASK_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
  let cause: Error | undefined
  redis.on('error', (error: Error) => (cause = error))
  try {
    await redis.connect().catch((error: unknown) => {
      // The error only reports that the connection is closed.
      throw cause ?? error
    })
    return type === 'sentinel' ? await masterOf(redis, master ?? '', seed) : await ownerOfSlot(redis, seed)
  } finally {
    redis.disconnect()
  }
}

async function masterOf(redis: Redis, name: string, seed: Node): Promise<Owner> {
  const found = (await redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)) as [string, string] | null
  if (!found) throw new Error(`the sentinel at ${seed.host}:${seed.port} knows no master ${name}`)
  const others = (await redis.call('SENTINEL', 'SENTINELS', name)) as string[][]
  const seeds = others.map((fields): Node => {
    const field = (key: string) => fields[fields.indexOf(key) + 1] ?? ''
    return { host: field('ip'), port: Number(field('port')) }
  })
  return { owner: { host: found[0], port: Number(found[1]) }, seeds: [seed, ...seeds] }
}

async function ownerOfSlot(redis: Redis, seed: Node): Promise<Owner> {
  const slot = await redis.cluster('KEYSLOT', CLUSTER_PREFIX)
  const ranges = await redis.cluster('SLOTS')
  // A node that does not know its own address leaves it empty.
  const at = ([host, port]: readonly [string, number, ...unknown[]]): Node => ({ host: host || seed.host, port })
  const range = ranges.find(([from, to]) => from <= slot && slot <= to)
  if (!range?.[2]) throw new Error('no node of the cluster has the slot of edged')
  const nodes = ranges.flatMap(([, , ...all]) => all.map(at))
  return { owner: at(range[2]), seeds: nodes.filter((node, i) => nodes.findIndex((same) => isSame(same, node)) === i) }
}
