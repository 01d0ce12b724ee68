import t from 'tap'
import { FairSlices } from '../../../src/core/schedule/fair-slices.js'

/** Holds the thread for longer than a slice. */
const work = (): void => {
  for (const began = performance.now(); performance.now() - began < 5;);
}

t.test('a task of one account has every second slice, however many tasks another account has', async (t) => {
  const slices = new FairSlices()
  const order: string[] = []
  const ending = new AbortController()
  const many = Array.from({ length: 8 }, async () => {
    await slices.run('many', async (pause) => {
      while (!ending.signal.aborted) {
        work()
        order.push('many')
        await pause()
      }
    })
  })
  await slices.run('one', async (pause) => {
    for (let step = 0; step < 10; step++) {
      work()
      order.push('one')
      await pause()
    }
  })
  ending.abort()
  await Promise.all(many)
  // All eight begin before the first slice ends.
  const shared = order.slice(8, order.lastIndexOf('one'))
  const turns = shared.filter((account) => account === 'many').length
  t.ok(turns >= 8 && turns <= 10, shared.join(' '))
})

t.test('the event loop has its turn between two slices', async (t) => {
  const slices = new FairSlices()
  let turns = 0
  await slices.run('a', async (pause) => {
    for (let step = 0; step < 5; step++) {
      setImmediate(() => turns++)
      work()
      await pause()
    }
  })
  t.ok(turns >= 4, `${turns} turns`)
})

t.test('an account without tasks leaves nothing behind, also if a task fails', async (t) => {
  const slices = new FairSlices()
  const failing = async () => await Promise.reject(new Error('broken'))
  await t.rejects(slices.run('a', failing), { message: 'broken' })
  t.equal(await slices.run('a', async () => await Promise.resolve(1)), 1)
})
