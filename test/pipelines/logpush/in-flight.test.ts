import t from 'tap'
import { Bench, rays, textOf, tooLarge, transient, ZONE, type Arrived } from './jobs-helper.js'

/** Responses that are given later, by the first ray of the batch. */
class Held {
  readonly #open = new Map<string, (failure?: Error) => void>()

  readonly response = async (batch: Arrived) =>
    await new Promise<void>((resolve, reject) => {
      this.#open.set(firstOf(batch), (failure) => (failure === undefined ? resolve() : reject(failure)))
    })

  get waiting(): string[] {
    return [...this.#open.keys()].toSorted()
  }

  give(first: string, failure?: Error): void {
    this.#open.get(first)!(failure)
    this.#open.delete(first)
  }
}

const firstOf = ({ text }: Arrived): string => /r\d+/.exec(text)![0]

const place = async (bench: Bench): Promise<number> => {
  const spool = await bench.spools.open('http_requests', ZONE)
  const cursor = await spool.cursor('job-1')
  return cursor.state.next
}

t.test('four batches are in flight by default, and the cursor passes no gap', async (t) => {
  const bench = await Bench.open(t)
  const sink = bench.sink()
  const held = new Held()
  sink.response = held.response
  await bench.job(1, { max_upload_records: 1000, edged_in_flight: null })
  await bench.write(...rays(0, 7000))
  await bench.clock.until(() => sink.attempts.length === 4)
  await bench.clock.pass(5000)
  t.strictSame(held.waiting, ['r0', 'r1000', 'r2000', 'r3000'], 'no fifth')

  held.give('r1000')
  held.give('r2000')
  await bench.clock.until(() => sink.arrived.length === 2)
  await bench.clock.pass(5000)
  t.equal(await place(bench), 0)
  t.equal(sink.attempts.length, 4, 'delivered batches behind a gap count as in flight')
  held.give('r0')
  await bench.clock.until(() => sink.attempts.length === 7)
  t.equal(await place(bench), 3000)
  for (const first of held.waiting) held.give(first)
  await bench.clock.until(() => sink.arrived.length === 7)
  t.equal(new Set(sink.names).size, 7)
})

t.test('after a stop only batches that were not delivered are sent again, with their names and bytes', async (t) => {
  const bench = await Bench.open(t)
  const sink = bench.sink()
  const held = new Held()
  sink.response = held.response
  await bench.job(1, { max_upload_records: 1000, edged_in_flight: 4 })
  await bench.write(...rays(0, 6000))
  await bench.clock.until(() => sink.attempts.length === 4)
  held.give('r2000')
  await bench.clock.until(() => sink.arrived.length === 1)
  await bench.stop()

  const before = new Map(sink.attempts.map((batch) => [firstOf(batch), batch]))
  sink.response = () => {}
  await bench.start()
  await bench.clock.until(() => sink.arrived.length === 6)
  await bench.clock.pass(60_000)
  t.strictSame(sink.arrived.map(firstOf).toSorted(), ['r0', 'r1000', 'r2000', 'r3000', 'r4000', 'r5000'])
  for (const batch of sink.arrived.filter((batch) => before.has(firstOf(batch))))
    t.strictSame(batch, before.get(firstOf(batch)))
  t.equal(await place(bench), 6000)
})

t.test('a batch that is too large is split, while those behind it that have arrived are not repeated', async (t) => {
  const bench = await Bench.open(t)
  const sink = bench.sink()
  sink.response = ({ text, records }) => {
    if (text.includes('"r1500"') && records > 300) throw tooLarge()
  }
  await bench.job(1, { max_upload_records: 1000, edged_in_flight: 4 })
  await bench.write(...rays(0, 5000))
  await bench.clock.until(() => sink.text.length === textOf(0, 5000).length)
  const texts = sink.arrived.toSorted((a, b) => Number(firstOf(a).slice(1)) - Number(firstOf(b).slice(1)))
  t.equal(texts.map(({ text }) => text).join(''), textOf(0, 5000))
  // A record counts once, in however many batches it was.
  for (const name of ['read', 'selected', 'delivered'])
    t.match(await bench.metrics.metrics(), `edged_logpush_records_${name}_total{job="1"} 5000\n`)
})

t.test('a destination that needs order gets one batch at a time', async (t) => {
  const bench = await Bench.open(t)
  const sink = bench.sink()
  sink.ordered = true
  const held = new Held()
  sink.response = held.response
  await bench.job(1, { max_upload_records: 1000, edged_in_flight: 8 })
  await bench.write(...rays(0, 2000))
  await bench.clock.until(() => sink.attempts.length === 1)
  await bench.clock.pass(5000)
  t.strictSame(held.waiting, ['r0'])
  held.give('r0')
  await bench.clock.until(() => sink.attempts.length === 2)
  held.give('r1000')
  await bench.clock.until(() => sink.arrived.length === 2)
})

/** Numbers from 0 to 1 that are the same in each run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state / 0x7fffffff
  }
}

const MERGED = { field_names: ['RayID'], merge_subrequests: true }
for (const [seed, more] of [
  [1, {}],
  [2, {}],
  [3, { output_options: MERGED }],
  [4, { output_options: MERGED }],
] as const)
  t.test(`whatever fails and whenever it stops, each record arrives once: ${seed}`, async (t) => {
    const bench = await Bench.open(t)
    const sink = bench.sink()
    const next = numbers(seed)
    sink.response = async (batch, _attempt, signal) => {
      const luck = next()
      if (luck < 0.3) await bench.clock.sleep(next() * 20_000, signal)
      if (luck < 0.5) throw transient()
      if (luck < 0.65 && batch.records > 1) throw tooLarge()
    }
    await bench.job(1, { max_upload_records: 1000, edged_in_flight: 6, ...more })
    const ALL = 12_000
    for (let from = 0; from < ALL; from += 3000) {
      const records = rays(from, from + 3000)
      await bench.write(
        ...records.map((ray, i) => ({ ...ray, ...(i % 50 === 7 && { ParentRayID: `r${from + i - 3}` }) })),
      )
      await bench.clock.pass(Math.floor(next() * 40_000), 1000)
      await bench.restart()
    }
    sink.response = () => {}
    const found = () =>
      sink.arrived.flatMap(({ text }) => [...text.matchAll(/(?<="RayID":|^|\n)"(r\d+)"/g)].map(([, ray]) => ray!))
    await bench.clock.until(() => new Set(found()).size === ALL, { step: 1000 })
    await bench.clock.pass(60_000, 1000)
    t.equal(found().length, ALL, 'none twice')
  })
