import t from 'tap'
import { DatabasesBusy, QueryLine } from '../../src/workers/runtime/query-line.js'
import { HandClock } from '../helpers/hand-clock.js'

/** A query that ends when it is told to. */
function query() {
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return { work: async () => await ended, end }
}

t.test('queries run one after the other, in order', async (t) => {
  const line = new QueryLine(new HandClock())
  const ran: number[] = []
  const first = query()
  const all = [
    line.run(first.work),
    ...[1, 2, 3].map(
      async (n) =>
        await line.run(async () => {
          await Promise.resolve()
          ran.push(n)
        }),
    ),
  ]
  t.same(ran, [])
  first.end()
  await Promise.all(all)
  t.same(ran, [1, 2, 3])
  t.equal(await line.run(async () => await Promise.resolve('x')), 'x')
})

t.test('a query that waits too long does not run, and those after it do', async (t) => {
  const clock = new HandClock()
  const line = new QueryLine(clock)
  const first = query()
  const running = line.run(first.work)
  let ran = false
  const late = line.run(async () => {
    await Promise.resolve()
    ran = true
  })
  const rejected = t.rejects(late, DatabasesBusy)
  await clock.advance(2000)
  await rejected
  const next = line.run(async () => await Promise.resolve('next'))
  first.end()
  await running
  t.equal(await next, 'next')
  t.notOk(ran)
})

t.test('a query that fails does not keep the others from running', async (t) => {
  const line = new QueryLine(new HandClock())
  const failed = line.run(async () => await Promise.reject(new Error('no')))
  const next = line.run(async () => await Promise.resolve(1))
  await t.rejects(failed, { message: 'no' })
  t.equal(await next, 1)
})

t.test('the number of waiting queries is limited', async (t) => {
  const line = new QueryLine(new HandClock())
  const first = query()
  const running = line.run(first.work)
  const waiting = Array.from({ length: 200 }, async () => await line.run(async () => await Promise.resolve()))
  await t.rejects(line.run(first.work), DatabasesBusy)
  first.end()
  await Promise.all([running, ...waiting])
})
