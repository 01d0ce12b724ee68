import t from 'tap'
import { inSlices } from '../../src/core/schedule/event-loop-yield.js'

t.test('a long list is read in slices, with a pause after each', async (t) => {
  let pauses = 0
  let read = 0
  const items = function* () {
    for (let item = 0; item < 1200; item++) {
      read++
      yield item
    }
  }
  const slices: number[][] = []
  for await (const slice of inSlices(items(), async () => void pauses++)) {
    slices.push([...slice])
    t.equal(read, slices.flat().length, 'nothing is read ahead')
  }
  t.same(
    slices.map(({ length }) => length),
    [500, 500, 200],
  )
  t.equal(pauses, 2)
  t.same(
    slices.flat(),
    Array.from({ length: 1200 }, (_, item) => item),
  )
})
