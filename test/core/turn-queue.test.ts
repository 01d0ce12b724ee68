import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { Arrivals, TurnQueue } from '../../src/core/turn-queue.js'

/** A time that began so long ago that it fills a turn. */
const filled = (): number => performance.now() - 1000

t.test('the queue is open until the work of a turn reaches its maximum', async (t) => {
  const queue = new TurnQueue()
  t.ok(queue.open)
  queue.spent(performance.now())
  t.ok(queue.open)
  queue.spent(filled())
  t.notOk(queue.open)
  await setImmediate()
  t.ok(queue.open, 'the next turn starts at zero')
})

t.test('work of several pages runs in order, and beyond the maximum in later turns', async (t) => {
  const queue = new TurnQueue()
  const ran: string[] = []
  queue.add(() => ran.push('a'))
  t.notOk(queue.open, 'other work waits behind what is queued')
  queue.add(() => {
    ran.push('b')
    t.ok(queue.open, 'work that runs may go on')
    queue.spent(filled())
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
    const queue = new TurnQueue()
    let once = 0
    const work = () => {
      once += 1
      if (once === 1) {
        queue.spent(filled())
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
  const queue = new TurnQueue()
  const order: string[] = []
  for (const name of ['a', 'b', 'c'])
    queue.add(() => {
      order.push(name)
      queue.spent(filled())
    })
  while (order.filter((name) => name !== '-').length < 3) {
    await setImmediate()
    order.push('-')
  }
  t.same(order, ['a', '-', 'b', '-', 'c', '-'])
})

t.test('a turn is shorter while connections arrive', async (t) => {
  const arrivals = new Arrivals()
  const queue = new TurnQueue(arrivals)
  const ran: string[] = []
  // Each takes more than the time while connections arrive, and less than the time of other turns.
  const work = (name: string) => () => {
    ran.push(name)
    queue.spent(performance.now() - 2)
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
