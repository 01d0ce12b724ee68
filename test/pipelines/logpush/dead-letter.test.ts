import t from 'tap'
import { RecordsRefused } from '../../../src/core/sink.js'
import { Bench, rays, textOf, tooLarge, transient } from './jobs-helper.js'

t.test('a batch that is too large goes in halves, and a record that is gets set aside', async (t) => {
  const bench = await Bench.open(t, { dead_letter: 'test://dead' })
  const sink = bench.sink()
  bench.sink('test://dead').encoding = 'identity'
  sink.response = ({ text }) => {
    if (text.length > 60) throw tooLarge()
  }
  await bench.job(1)
  await bench.write(...rays(0, 40), { RayID: 'y'.repeat(100) }, ...rays(40, 80))
  await bench.clock.until(() => sink.text.endsWith('"r79"\n'))
  t.equal(sink.text, textOf(0, 80), 'in order')
  t.equal(new Set(sink.names).size, sink.names.length, 'each with a name of its own')
  t.equal(bench.sink('test://dead').text, `"${'y'.repeat(100)}"\n`)
  t.ok(sink.attempts.length < 40, `${sink.attempts.length} attempts: it learns what is too large`)
})

t.test('without a place for it, a record that is too large is dropped and counted', async (t) => {
  const bench = await Bench.open(t)
  bench.sink().response = ({ text }) => {
    if (text.includes('y')) throw tooLarge()
  }
  await bench.job(1)
  await bench.write(...rays(0, 1), { RayID: 'yy' }, ...rays(1, 2))
  await bench.clock.until(() => bench.sink().text.includes('r1'))
  t.equal(bench.sink().text, textOf(0, 2))
  t.match(await bench.metrics.metrics(), /edged_logpush_records_dropped_total\{job="1",reason="too_large"\} 1/)
})

/** A destination that never takes records with a y, and takes all others. */
const fussy = ({ text }: { text: string }): void => {
  const lines = text.split('\n').filter((line) => line !== '')
  const bad = lines.filter((line) => line.includes('y'))
  if (bad.length > 0)
    throw new RecordsRefused('sink.test did not take them', { lines: bad, taken: lines.length - bad.length })
}

t.test('records whose content is rejected are set aside, and the job goes on', async (t) => {
  const bench = await Bench.open(t, { dead_letter: 'test://dead' })
  const [sink, dead] = [bench.sink(), bench.sink('test://dead')]
  sink.response = fussy
  dead.response = (_batch, attempt) => {
    if (attempt === 1) throw transient()
  }
  await bench.job(1, { max_upload_records: 1000 })
  await bench.write(...rays(0, 2), { RayID: 'y1' }, ...rays(2, 4), { RayID: 'y2' })
  await bench.clock.until(() => bench.status(1)?.last_complete != null)
  t.equal(dead.text, '"y1"\n"y2"\n')
  t.equal(dead.names[0], sink.attempts[0]!.name)
  t.match(bench.status(1), { error_message: null, last_error: null })
  await bench.write({ RayID: 'y3' })
  await bench.clock.until(() => dead.text.includes('y3'))
  await bench.write(...rays(4, 5))
  await bench.clock.until(() => sink.text === textOf(4, 5))
  const metrics = await bench.metrics.metrics()
  t.match(metrics, /edged_logpush_records_delivered_total\{job="1"\} 5\n/)
  t.notMatch(metrics, /records_dropped_total\{.*"refused"/)
  const [second, first] = await bench.deadLetters.list('1')
  const facts = { reason: 'refused', error: 'sink.test did not take them', path: null, replayed_at: null }
  t.match(first, { ...facts, id: dead.names[0], records: 2, bytes: 10 })
  t.match(second, { ...facts, id: dead.names[1], records: 1 })
  t.equal(bench.deadLetters.waiting('1'), 3)
  await bench.restart()
  t.equal(bench.deadLetters.waiting('1'), 3, 'over a restart')
})

t.test(
  'without a place for them, refused records are dropped and counted beside others, and hold up a job alone',
  async (t) => {
    const bench = await Bench.open(t)
    const sink = bench.sink()
    sink.response = fussy
    await bench.job(1)
    await bench.write(...rays(0, 2), { RayID: 'y' })
    await bench.clock.until(() => bench.status(1)?.last_complete != null)
    t.match(await bench.metrics.metrics(), /edged_logpush_records_dropped_total\{job="1",reason="refused"\} 1\n/)
    await bench.write({ RayID: 'yy' })
    await bench.clock.until(() => bench.status(1)?.error_message === 'sink.test did not take them')
    await bench.clock.until(() => sink.attempts.length > 3)
    sink.response = () => {}
    await bench.clock.until(() => bench.status(1)?.error_message === null, { step: 1000, most: 1000 })
    t.equal(sink.text, '"yy"\n')
  },
)
