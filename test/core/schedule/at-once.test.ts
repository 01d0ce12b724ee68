import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { eachAtOnce } from '../../../src/core/schedule/at-once.js'

t.test('all items are passed with their positions, a few at the same time', async (t) => {
  const seen: [string, number][] = []
  let active = 0
  let most = 0
  await eachAtOnce(
    Array.from({ length: 900 }, (_, at) => `item ${at}`),
    16,
    async (item, at) => {
      most = Math.max(most, ++active)
      seen.push([item, at])
      await setImmediate()
      active -= 1
    },
  )
  t.equal(most, 16)
  t.same(
    seen,
    Array.from({ length: 900 }, (_, at) => [`item ${at}`, at]),
  )
})

t.test('a failure is the failure of all', async (t) => {
  const work = async (item: number) => (item === 3 ? Promise.reject(new Error('three')) : undefined)
  await t.rejects(eachAtOnce([1, 2, 3, 4], 2, work), /three/)
  await eachAtOnce([], 2, work)
})
