import t from 'tap'
import { KEPT_WHOLE, ZoneSample } from '../../../src/edge/records/requests/sampling.js'

/** Returns the kept intervals of one second. */
const second = (sample: ZoneSample, at: number, requests: number, isImportant: (i: number) => boolean = () => false) =>
  Array.from({ length: requests }, (_, i) => sample.intervalOf(at, isImportant(i))).filter((interval) => interval > 0)
const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0)

t.test('all requests are kept up to a rate', async (t) => {
  const sample = new ZoneSample()
  for (const at of [1, 2, 3])
    t.strictSame(
      second(sample, at, KEPT_WHOLE),
      Array.from({ length: KEPT_WHOLE }, () => 1),
    )
})

t.test('above it a part is kept, which stands for all', async (t) => {
  const sample = new ZoneSample()
  second(sample, 1, 5000)
  const kept = second(sample, 2, 5000)
  t.ok(kept.length <= KEPT_WHOLE, `${kept.length} are kept`)
  t.ok(Math.abs(sum(kept) - 5000) <= 5000 / 25, `they stand for ${sum(kept)}`)
  t.equal(second(sample, 4, 10).length, 10, 'after a quiet second all are kept again')
})

t.test('the first busy second is bounded too', async (t) => {
  const kept = second(new ZoneSample(), 1, 100_000)
  t.ok(kept.length < 600, `${kept.length} are kept`)
})

t.test('errors, rule hits and agents have a share of their own', async (t) => {
  const sample = new ZoneSample()
  second(sample, 1, 1000, (i) => i % 100 === 0)
  const kept = second(sample, 2, 1000, (i) => i % 100 === 0)
  t.ok(kept.filter((one) => one === 1).length >= 10, 'all ten are kept')
  const flooded = second(sample, 3, 1000, () => true)
  t.ok(flooded.length <= KEPT_WHOLE + 1, 'and no more than the share if there are many')
  t.ok(Math.abs(sum(flooded) - 1000) <= 1000 / 25 + 1)
})

t.test('several processes share the rate', async (t) => {
  t.ok(second(new ZoneSample(10), 1, 10).length < 10)
})
