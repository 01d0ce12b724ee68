import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Bench } from './jobs-helper.js'

/** Records that stay large when they are compressed: 1 MB or so of each thousand. */
const bulky = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => {
    const seed = createHash('sha512').update(String(from + i))
    const text = createHash('shake256', { outputLength: 900 }).update(seed.digest()).digest('base64url')
    return { RayID: `r${from + i}-${text}` }
  })
const textOf = (records: readonly { RayID: string }[]) => records.map(({ RayID }) => `"${RayID}"\n`).join('')

// The disk was full of what the spools held, and large batches had no place in front of a destination that took them.
t.test('batches stay small enough for memory while the disk cannot store files', async (t) => {
  const bench = await Bench.open(t)
  const sink = bench.sink()
  await bench.job(1)
  rmSync(join(bench.folder, 'staging'), { recursive: true })
  const records = bulky(0, 3000)
  await bench.write(...records)
  await bench.clock.until(() => sink.text.length >= textOf(records).length)
  t.equal(sink.text, textOf(records))
  t.ok(sink.arrived.length > 3, `${sink.arrived.length} batches`)
  t.match(bench.status(1), { error_message: null })
})

t.test('a batch that was under way before the disk became full goes out in smaller ones', async (t) => {
  const bench = await Bench.open(t, { retain_while_disabled: true })
  const sink = bench.sink()
  const records = bulky(0, 3000)
  sink.response = async (_batch, _attempt, signal) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    signal.throwIfAborted()
  }
  await bench.job(1)
  await bench.write(...records)
  await bench.clock.until(() => sink.attempts.length === 1)
  await bench.change(1, { enabled: false })
  let ended = false
  void bench.logpush.settled('1').then(() => (ended = true))
  await bench.clock.until(() => ended)
  rmSync(join(bench.folder, 'staging'), { recursive: true })
  sink.response = () => {}
  await bench.change(1, { enabled: true })
  await bench.clock.until(() => sink.text.length >= textOf(records).length)
  t.equal(sink.text, textOf(records))
  t.not(sink.names[0], sink.attempts[0]!.name, 'under other names')
})
