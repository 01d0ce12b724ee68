import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { Arrivals, CONVERSIONS, LARGE_READS, TurnQueue } from '../../../src/core/schedule/turn-queue.js'

/** Milliseconds that fill a turn. */
const FULL = 1000

t.test('the queue is open until the work of a turn reaches its maximum', async (t) => {
  const queue = new TurnQueue(CONVERSIONS)
  t.ok(queue.open)
  queue.spend(0)
  t.ok(queue.open)
  queue.spend(FULL)
  t.notOk(queue.open)
  await setImmediate()
  t.ok(queue.open, 'the next turn starts at zero')
})

t.test('work of several pages runs in order, and beyond the maximum in later turns', async (t) => {
  const queue = new TurnQueue(CONVERSIONS)
  const ran: string[] = []
  queue.add(() => ran.push('a'))
  t.notOk(queue.open, 'other work waits behind what is queued')
  queue.add(() => {
    ran.push('b')
    t.ok(queue.open, 'work that runs may go on')
    queue.spend(FULL)
    t.notOk(queue.open)
  })
  queue.add(() => ran.push('c'))
  t.same(ran, [], 'never at once')
  await setImmediate()
  t.same(ran, ['a', 'b'])
  await setImmediate()
  t.same(ran, ['a', 'b', 'c'])
  t.ok(queue.open)
})

t.test(
  'work added twice runs once, deleted work never, and work added by work in a later turn or this one',
  async (t) => {
    const queue = new TurnQueue(CONVERSIONS)
    let once = 0
    const work = () => {
      once += 1
      if (once === 1) {
        queue.spend(FULL)
        queue.add(work)
      }
    }
    const deleted = () => t.fail('deleted work ran')
    queue.add(work)
    queue.add(work)
    queue.add(deleted)
    queue.delete(deleted)
    await setImmediate()
    t.equal(once, 1)
    await setImmediate()
    t.equal(once, 2)
    await setImmediate()
    t.equal(once, 2)
  },
)

t.test('other callbacks of the event loop run between the turns', async (t) => {
  const queue = new TurnQueue(CONVERSIONS)
  const order: string[] = []
  for (const name of ['a', 'b', 'c'])
    queue.add(() => {
      order.push(name)
      queue.spend(FULL)
    })
  while (order.filter((name) => name !== '-').length < 3) {
    await setImmediate()
    order.push('-')
  }
  t.same(order, ['a', '-', 'b', '-', 'c', '-'])
})

t.test('a turn is shorter while connections arrive', async (t) => {
  const arrivals = new Arrivals()
  const queue = new TurnQueue(CONVERSIONS, arrivals)
  const ran: string[] = []
  // Each takes more than the time while connections arrive, and less than the time of other turns.
  const work = (name: string) => () => {
    ran.push(name)
    queue.spend(2)
  }
  queue.add(work('a'))
  queue.add(work('b'))
  let turns = 0
  for (; ran.length === 0; turns++) {
    arrivals.count++
    await setImmediate()
  }
  t.equal(turns, 4, 'some turns are left to the connections')
  t.same(ran, ['a'])
  while (ran.length < 2) await setImmediate()
  t.same(ran, ['a', 'b'])
})

t.test('work that goes on in a tick counts before the next work begins', async (t) => {
  const queue = new TurnQueue(CONVERSIONS)
  const ran: string[] = []
  for (const name of ['a', 'b', 'c'])
    queue.add(() => {
      ran.push(name)
      process.nextTick(() => queue.spend(FULL))
    })
  for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
    await setImmediate()
    t.same(ran, expected)
  }
})

/** Counts reads until no more are left in this turn. */
function readsOf(turns: TurnQueue): number {
  for (let reads = 1; reads < 100; reads++) if (!turns.spend(1)) return reads
  return Infinity
}

t.test('a turn has a maximum of large reads, and fewer while clients connect', async (t) => {
  const arrivals = new Arrivals()
  const turns = new TurnQueue(LARGE_READS, arrivals)
  t.equal(readsOf(turns), 16)
  await setImmediate()
  t.equal(readsOf(turns), 16, 'the next turn starts again')
  arrivals.count++
  await setImmediate()
  t.equal(readsOf(turns), 1)
  await setImmediate()
  t.equal(readsOf(turns), 16)
})

t.test('connections that wait are resumed in order, in each turn as many as may read', async (t) => {
  const turns = new TurnQueue(LARGE_READS)
  const resumed: number[] = []
  const waiting = Array.from({ length: 40 }, (_, i) => () => void resumed.push(i))
  for (const each of waiting) turns.add(each)
  turns.add(waiting[0]!)
  turns.delete(waiting[1]!)
  t.same(resumed, [], 'never at once')
  for (const expected of [16, 32, 39]) {
    await setImmediate()
    t.equal(resumed.length, expected)
  }
  t.same(
    resumed,
    waiting.map((_, i) => i).filter((i) => i !== 1),
  )
})
