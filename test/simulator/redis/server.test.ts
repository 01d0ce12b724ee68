/** The simulated Redis and a real one return the same for the commands of the store, and have the same data afterwards. */
import { Redis } from 'ioredis'
import t from 'tap'
import { AUDIT, BEGIN, CHANGES, COMMIT, META, REFILL, ROW_PATTERN, rowKey } from '../../../src/store/redis/script.js'
import { testFolder } from '../../helpers/folder.js'
import { NO_REDIS, redisServer } from '../../helpers/redis.js'
import { stream, type Random } from '../random.js'
import { Scheduler } from '../scheduler.js'
import { SimulatedRedis } from './server.js'

const SEEDS = 8
/** Enough for streams that are cut. */
const COMMANDS = 800
/** Share of the commands that are batches. */
const BATCHES = 0.6
const EPOCHS = ['first', 'second'] as const
const NAMES = ['one', 'two', 'three', 'gr\u00fc\u00df'].map((id) => JSON.stringify(['thing', 'account', 'a', id]))
const KEYS = NAMES.map(rowKey)
const LOCK_MS = 1e9

type Command = readonly [name: string, ...args: string[]]

/** Draws a command as the store sends it. `version` is the number of batches so far. */
function drawCommand(random: Random, version: number): Command {
  const key = random.pick(KEYS)
  const field = random.pick(['v', 'j', 'none'])
  const near = String(Math.max(0, version - random.below(4) + 1))
  if (random.chance(BATCHES)) return commit(random, version)
  if (random.chance(0.003)) return refill(random, key, version)
  return random.pick<() => Command>([
    () => ['eval', BEGIN, '2', META, CHANGES, random.pick(EPOCHS)],
    () => ['ping'],
    () => ['xlen', random.pick([CHANGES, AUDIT])],
    () => ['hget', random.pick([META, key]), random.pick(['version', field])],
    () => ['hmget', key, 'v', field],
    () => ['hmget', META, 'schema', 'epoch', 'migrating', 'version'],
    () => ['hset', META, random.pick(['probe', 'accepted']), near],
    () => ['set', REFILL, 'busy', 'PX', String(LOCK_MS), 'NX'],
    () => ['del', random.pick([REFILL, key])],
    () => ['xrange', CHANGES, `${near}-0`, '+'],
    () => ['xrange', CHANGES, `(${near}-0`, '+', 'COUNT', '3'],
    () => ['xread', 'COUNT', '256', 'STREAMS', CHANGES, `${near}-0`],
  ])()
}

/** Returns a batch. Some of its writes name a version, and some of these versions are wrong. */
function commit(random: Random, version: number): Command {
  const keys = Array.from({ length: 1 + random.below(3) }, () => random.pick(KEYS))
  const wanted = () =>
    random.pick(['', '', '', '', '', '0', String(version), String(Math.max(0, version - random.below(6)))])
  const json = () => random.pick(['', '{"n":1}', '"gr\u00fc\u00df \\"quoted\\""', '[1,[2]]'])
  const audit = Array.from({ length: random.below(3) }, (_, index) => `{"entry":${index}}`)
  return [
    random.chance(0.8) ? 'evalsha' : 'eval',
    String(3 + keys.length),
    META,
    CHANGES,
    AUDIT,
    ...keys,
    random.chance(0.95) ? EPOCHS[0] : EPOCHS[1],
    '4',
    '6',
    String(keys.length),
    ...keys.flatMap(() => [wanted(), json()]),
    ...audit,
  ]
}

/** A machine writes its records into a server that lost its data. */
const refill = (random: Random, key: string, version: number): Command => [
  'exec',
  JSON.stringify([
    ['hset', key, 'v', String(version), 'j', '{}'],
    ['hset', META, 'epoch', EPOCHS[0], 'version', String(Math.max(0, version - random.below(3)))],
    ['del', CHANGES],
  ]),
]

/** The script that commits follows its name. */
function withScript([name, ...args]: Command): Command {
  if (name === 'evalsha') return [name, COMMIT.sha, ...args]
  return name === 'eval' && args[0] !== BEGIN ? [name, COMMIT.lua, ...args] : [name, ...args]
}

type Run = (command: Command) => Promise<unknown>

const simulated =
  (server: SimulatedRedis): Run =>
  async ([name, ...args]) =>
    await Promise.resolve(server.run(name, args))

const real =
  (redis: Redis): Run =>
  async ([name, ...args]) => {
    if (name === 'exec') return await redis.multi(JSON.parse(args[0]!) as string[][]).exec()
    return await redis.call(name, ...args)
  }

/** Returns the response of a server. Of an error it is the first word. */
async function responseOf(run: Run, command: Command): Promise<unknown> {
  try {
    return await run(command)
  } catch (error) {
    return `error ${(error as Error).message.split(' ', 1)[0]}`
  }
}

/** Returns all data of the store. Entries of the audit record have no ids, because Redis takes these from its clock. */
async function contentOf(run: Run): Promise<object> {
  const keys = new Set<string>()
  for (let cursor = '0', more = true; more; more = cursor !== '0') {
    const [next, found] = (await run(['scan', cursor, 'MATCH', ROW_PATTERN, 'COUNT', '1000'])) as [string, string[]]
    for (const key of found) keys.add(key)
    cursor = next
  }
  const rows = await Promise.all([...keys].sort().map(async (key) => [key, await run(['hmget', key, 'v', 'j'])]))
  const audit = (await run(['xrange', AUDIT, '-', '+', 'COUNT', '1000'])) as [string, string[]][]
  return {
    rows,
    meta: await run(['hmget', META, 'schema', 'epoch', 'version', 'probe', 'accepted']),
    changes: await run(['xrange', CHANGES, '-', '+']),
    audit: audit.map(([, fields]) => fields),
  }
}

t.test('the simulated Redis responds as a real one', { skip: NO_REDIS }, async (t) => {
  const server = await redisServer(testFolder(t), '--appendfsync', 'no')
  const redis = new Redis(server.url)
  t.teardown(async () => {
    redis.disconnect()
    await server.kill()
  })
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = stream(seed, 'commands')
    await redis.flushall()
    await redis.script('FLUSH')
    const model = new SimulatedRedis(new Scheduler(stream(seed, 'schedule')), { replica: false })
    const [ours, theirs] = [simulated(model), real(redis)]
    const [found, wanted]: [unknown[], unknown[]] = [[], []]
    for (let count = 0; count < COMMANDS; count++) {
      const command = drawCommand(random, model.version)
      found.push([command, await responseOf(ours, withScript(command))])
      wanted.push([command, await responseOf(theirs, withScript(command))])
      if (!random.chance(0.02)) continue
      await redis.script('FLUSH')
      model.restart()
    }
    t.strictSame(found, wanted, `seed ${seed}`)
    t.strictSame(await contentOf(ours), await contentOf(theirs), `data after seed ${seed}`)
  }
})

t.test('INFO has the lines that the store reads', { skip: NO_REDIS }, async (t) => {
  const server = await redisServer(testFolder(t))
  t.teardown(async () => await server.kill())
  const redis = new Redis(server.url)
  t.teardown(() => redis.disconnect())
  const model = new SimulatedRedis(new Scheduler(stream(1, 'schedule')), { replica: false })
  for (const line of [/^run_id:\w+\r$/m, /^connected_slaves:0\r$/m, /^aof_enabled:\d\r$/m])
    for (const info of [await redis.info(), String(model.run('info', []))]) t.match(info, line)
})
