import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { TransferTurns } from '../../src/core/transfer-turns.js'
import { Arrivals } from '../../src/core/turn-queue.js'

/** Counts reads until no more are left in this turn. */
function readsOf(turns: TransferTurns): number {
  for (let reads = 1; reads < 100; reads++) if (!turns.count()) return reads
  return Infinity
}

t.test('a turn has a maximum of large reads, and fewer while clients connect', async (t) => {
  const arrivals = new Arrivals()
  const turns = new TransferTurns(arrivals)
  t.equal(readsOf(turns), 8)
  await setImmediate()
  t.equal(readsOf(turns), 8, 'the next turn starts again')
  arrivals.count++
  await setImmediate()
  t.equal(readsOf(turns), 1)
  await setImmediate()
  t.equal(readsOf(turns), 8)
})

t.test('connections that wait are resumed in order, in each turn as many as may read', async (t) => {
  const turns = new TransferTurns()
  const resumed: number[] = []
  const waiting = Array.from({ length: 20 }, (_, i) => () => void resumed.push(i))
  for (const each of waiting) turns.wait(each)
  turns.wait(waiting[0]!)
  turns.delete(waiting[1]!)
  t.same(resumed, [], 'never at once')
  for (const expected of [8, 16, 19]) {
    await setImmediate()
    t.equal(resumed.length, expected)
  }
  t.same(
    resumed,
    waiting.map((_, i) => i).filter((i) => i !== 1),
  )
})
