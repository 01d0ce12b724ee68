import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { compareIds, lossBefore, placeOf, type StreamPlace } from '../../../pipelines/sources/streams/redis-place.js'
import { testFolder } from '../../helpers/folder.js'
import { NO_REDIS, redisServer } from '../../helpers/redis.js'
import { lines, recordOf, sourceRun } from './source-helper.js'

t.test('entries that a server deleted before they were read', { skip: NO_REDIS }, async (t) => {
  const server = await redisServer(join(testFolder(t, { redis: {} }), 'redis'), '--appendfsync', 'no')
  t.teardown(() => server.kill())
  const client = new Redis(server.url)
  t.teardown(() => client.disconnect())
  let streams = 0
  const begin = (t: Test, user = '') => {
    const key = `s${++streams}`
    let added = 0
    const add = async (count: number) => {
      const adding = client.pipeline()
      for (let at = 0; at < count; at++) adding.xadd(key, '*', 'record', recordOf(`r${added++}`))
      await adding.exec()
    }
    const url = server.url.replace('//', `//${user}`)
    const start = (name = 'p') => {
      const folder = testFolder(t)
      const source = sourceRun(folder, { redis_stream: url, key }, '', name)
      const running = source.run()
      return {
        ...source,
        delivered: () => lines(folder).length,
        async end() {
          source.stop()
          t.match(await running, { end: 'done' })
        },
      }
    }
    const until = async (condition: () => boolean | Promise<boolean>) => {
      while (!(await condition())) await setTimeout(10)
    }
    return { key, add, start, until }
  }
  /** Reads and acknowledges the next entries as another consumer. */
  const readAs = async (consumer: string, key: string, count: number) => {
    await client.xgroup('CREATE', key, 'edged', '0').catch(() => undefined)
    const found = await client.xreadgroup('GROUP', 'edged', consumer, 'COUNT', count, 'STREAMS', key, '>')
    const [[, entries]] = found as [[string, [string, unknown][]]]
    await client.xack(key, 'edged', ...entries.map(([id]) => id))
  }

  t.test('trimmed ones are counted once, also those of a stream that is empty by now', async (t) => {
    const { key, add, start, until } = begin(t)
    await add(100)
    await client.xtrim(key, 'MAXLEN', 90)
    const first = start()
    await until(() => first.stats.read === 90)
    await first.end()
    t.match(first.stats, { losses: 0, lost: 0 }, 'what was trimmed before there was a group is not missing')

    await add(50)
    await client.xtrim(key, 'MAXLEN', 20)
    const second = start()
    await until(() => second.stats.read === 20)
    await second.end()
    t.match(second.stats, { losses: 1, lost: 30 })
    t.match(second.messages, [
      /^p: 30 entries of the stream s1 of 127\.0\.0\.1:\d+ were deleted before they were read$/,
    ])
    t.equal(second.delivered(), 20)

    await add(7)
    await client.xtrim(key, 'MAXLEN', 0)
    const third = start()
    await until(() => third.stats.lost > 0)
    await add(5)
    await until(() => third.stats.read === 5)
    await third.end()
    t.match(third.stats, { losses: 1, lost: 7 })

    const fourth = start()
    await add(1)
    await until(() => fourth.stats.read === 1)
    await fourth.end()
    t.match(fourth.stats, { losses: 0, lost: 0 }, 'a loss is reported once')
  })

  t.test('a stream that is trimmed faster than it is read', async (t) => {
    const { key, add, start, until } = begin(t)
    await add(1)
    const { stats, end, messages } = start()
    await until(() => stats.read === 1)
    for (let round = 0; round < 20; round++) {
      // As one transaction of a producer: no reader gets to the first 40 entries.
      const adding = client.multi()
      for (let at = 0; at < 50; at++) adding.xadd(key, 'MAXLEN', '=', 10, '*', 'record', recordOf(`x${round}-${at}`))
      await adding.exec()
    }
    await until(async () => {
      const [group] = (await client.xinfo('GROUPS', key)) as [unknown[]]
      const [stream] = [(await client.xinfo('STREAM', key)) as unknown[]]
      return group[7] === stream[stream.indexOf('last-generated-id') + 1] && group[5] === 0
    })
    await end()
    t.equal(stats.read + stats.lost, 1001, `${stats.read} read, ${stats.lost} lost`)
    t.ok(stats.lost > 0)
    t.ok(messages.length < 5, 'losses are reported together')
  })

  t.test('two runs of a group count a loss once', async (t) => {
    const { key, add, start, until } = begin(t)
    await add(10)
    await readAs('other', key, 10)
    const runs = [start('p'), start('q')]
    await setTimeout(100)
    const adding = client.multi()
    for (let at = 0; at < 500; at++) adding.xadd(key, 'MAXLEN', '=', 200, '*', 'record', recordOf(`x${at}`))
    await adding.exec()
    const sum = (member: 'read' | 'lost') => runs.reduce((total, { stats }) => total + stats[member], 0)
    await until(() => sum('read') >= 200)
    await client.xtrim(key, 'MAXLEN', 0)
    await add(3)
    await client.xtrim(key, 'MAXLEN', 0)
    await until(() => sum('read') + sum('lost') >= 503)
    await setTimeout(50)
    for (const run of runs) await run.end()
    t.equal(sum('lost') + sum('read'), 503)
    t.ok(sum('lost') >= 300)
  })

  t.test('deleted ones, and a stream that was deleted, are reported without a number', async (t) => {
    const { key, add, start, until } = begin(t)
    await add(10)
    await readAs('other', key, 3)
    const [, , , fourth, fifth] = await client.xrange(key, '-', '+')
    await client.xdel(key, fifth![0])
    t.ok(fourth)
    const { stats, messages, end } = start()
    await until(() => stats.read === 6)
    t.match(stats, { losses: 1, lost: 0 })
    t.match(messages, [
      /entries of the stream s\d of \S+ may have been deleted before they were read; how many is not known$/,
    ])
    await client.del(key)
    await until(async () => (await client.exists(key)) === 1)
    await add(1)
    await until(() => stats.read === 7)
    t.match(stats, { losses: 2, lost: 0 })
    await end()
  })

  for (const command of ['xinfo', 'multi'])
    t.test(`a server that does not permit ${command} is read, which is reported`, async (t) => {
      await client.call('ACL', 'SETUSER', 'reader', 'reset', 'on', '>secret', '~*', '+@all', `-${command}`)
      const { add, start, until } = begin(t, 'reader:secret@')
      await add(3)
      const { stats, messages, end } = start()
      await until(() => stats.read === 3)
      await add(2)
      await until(() => stats.read === 5)
      await end()
      t.match(messages, [/^p: entries of the stream .* that are deleted before they are read cannot be counted: /])
    })
})

t.test('the place of a group tells what is missing', async (t) => {
  const place: StreamPlace = {
    length: 10,
    first: '5-0',
    last: '20-0',
    added: 30,
    maxDeleted: undefined,
    delivered: '4-0',
    read: 20,
  }
  t.equal(lossBefore(place, '9-0'), undefined)
  t.strictSame(lossBefore({ ...place, read: 15 }, '9-0'), { records: 5 })
  t.strictSame(lossBefore({ ...place, read: undefined }, '9-0'), { records: undefined })
  t.equal(lossBefore({ ...place, delivered: '20-0', read: undefined }, undefined), undefined)
  // Redis 6: the last entry that was delivered is still there, or not.
  const old = { ...place, added: undefined, read: undefined }
  t.strictSame(lossBefore(old, '9-0'), { records: undefined })
  t.equal(lossBefore({ ...old, delivered: '5-0' }, '9-0'), undefined)
  t.strictSame(lossBefore({ ...place, delivered: '5-0', maxDeleted: '7-0' }, '9-0'), { records: undefined })
  t.equal(lossBefore({ ...place, delivered: '5-0', maxDeleted: '7-0' }, '6-0'), undefined)

  const six = ['length', 2, 'last-generated-id', '9-1', 'groups', 1, 'first-entry', ['8-0', ['record', '{}']]]
  const group = ['name', 'edged', 'consumers', 1, 'pending', 0, 'last-delivered-id', '7-0']
  t.same(placeOf(six, [['name', 'x'], group], 'edged'), {
    length: 2,
    last: '9-1',
    first: '8-0',
    added: undefined,
    maxDeleted: undefined,
    delivered: '7-0',
    read: undefined,
  })
  t.equal(placeOf(six, [], 'edged'), undefined)
  t.strictSame(['1-2', '1-10', '2-0', '1-2'].toSorted(compareIds), ['1-2', '1-2', '1-10', '2-0'])
})
