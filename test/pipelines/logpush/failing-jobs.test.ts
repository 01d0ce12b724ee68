import t from 'tap'
import { LOGPUSH_JOBS, LOGPUSH_STATUS, type LogpushStatus } from '../../../src/core/model/logpush-job.js'
import { Bench, DEFAULTS, rays, refused, textOf, tooLarge, transient, ZONE } from './jobs-helper.js'

t.test('a wrong key marks the job at once; a corrected one sends what waited', async (t) => {
  const bench = await Bench.open(t)
  bench.sink('test://wrong').response = () => {
    throw refused()
  }
  await bench.job(1, { to: 'test://wrong' })
  await bench.write(...rays(0, 5))
  await bench.clock.until(() => bench.status(1)?.error_message === 'sink.test responded with 403')
  await bench.job(1, { to: 'test://right' })
  await bench.clock.until(() => bench.sink('test://right').arrived.length === 1, { step: 1, most: 5000 })
  t.equal(bench.sink('test://right').text, textOf(0, 5))
  t.equal(bench.sink('test://right').names[0], bench.sink('test://wrong').attempts[0]!.name)
  await bench.clock.until(() => bench.status(1)?.error_message === null)
  t.equal(bench.sink('test://wrong').open, 0, 'the old destination is closed')
})

t.test('a job leaves the failing state in one write: with the end of what was delivered', async (t) => {
  const bench = await Bench.open(t)
  const sink = bench.sink()
  sink.response = (_batch, attempt) => {
    if (attempt < 5) throw transient()
  }
  const states: LogpushStatus[] = []
  bench.store.watch((changes) => {
    for (const { kind, value } of changes) if (kind === LOGPUSH_STATUS.name) states.push(value as LogpushStatus)
  })
  await bench.job(1)
  await bench.write(...rays(0, 10))
  await bench.clock.until(() => states.some(({ error_message }) => error_message !== null))
  await bench.clock.until(() => bench.status(1)?.error_message === null)
  const left = states.find(({ error_message }, at) => at > 0 && error_message === null)
  t.match(left, { error_message: null, last_error: null, last_complete: sink.arrived[0]!.to })
})

t.test('a job that fails for a day is disabled, and says why', async (t) => {
  const bench = await Bench.open(t)
  bench.sink().response = () => {
    throw refused()
  }
  await bench.job(1)
  await bench.write(...rays(0, 1))
  await bench.clock.until(() => bench.enabled(1) === false, { step: 60_000 })
  const { failing_since, last_error, error_message } = bench.status(1)!
  t.equal(error_message, 'sink.test responded with 403')
  t.ok(Date.parse(last_error!) - Date.parse(failing_since!) >= 86_400_000)
  const entries = []
  for await (const { entry } of bench.store.audit()) entries.push(entry)
  t.match(entries, [{ actor: { type: 'system', id: 'logpush' }, action: 'update', resource: { id: '1' } }])
  const attempts = bench.sink().attempts.length
  await bench.clock.pass(3_600_000, 60_000)
  t.equal(bench.sink().attempts.length, attempts)

  bench.sink().response = () => {}
  await bench.job(1, { enabled: true })
  await bench.write({ RayID: 'later' })
  await bench.clock.until(() => bench.sink().arrived.length === 1)
  t.equal(bench.sink().text, '"later"\n', 'nothing of the time before')
})

t.test('a job of the configuration is not disabled, and its place in the spool outlives a restart', async (t) => {
  const bench = await Bench.open(t)
  bench.standing = ['files']
  await bench.restart()
  const sink = bench.sink('test://files')
  bench.sink('test://files-dead').encoding = 'identity'
  sink.response = () => {
    throw refused()
  }
  await bench.write(...rays(0, 2))
  await bench.clock.until(() => sink.attempts.length > 0)
  const { disable_after: forDays } = DEFAULTS.uploads
  await bench.clock.pass(2 * forDays, 600_000)
  t.equal(bench.store.list(LOGPUSH_JOBS).length, 0)
  t.equal(bench.store.list(LOGPUSH_STATUS).length, 0)
  await bench.restart()
  sink.response = ({ text }) => {
    if (text.includes('y')) throw tooLarge()
  }
  await bench.write({ RayID: 'yy' }, ...rays(2, 3))
  await bench.clock.until(() => sink.text.includes('r2'))
  t.equal(sink.text, textOf(0, 3))
  t.equal(bench.sink('test://files-dead').text, '"yy"\n')
  t.match(await bench.metrics.metrics(), /edged_logpush_records_delivered_total\{job="pipeline-files"\} 3/)

  bench.standing = []
  await bench.restart()
  t.strictSame((await bench.spools.open('http_requests', ZONE)).cursors, [], 'gone from the configuration')
})

t.test("a destination that never responds times out without delaying others's way", async (t) => {
  const bench = await Bench.open(t, { uploads: { ...DEFAULTS.uploads, in_flight: 2, in_flight_per_destination: 1 } })
  const hang = bench.sink('test://hangs')
  hang.response = async () => await new Promise<void>(() => {})
  await bench.job(1, { to: 'test://hangs' })
  await bench.job(2, { to: 'test://well' })
  await bench.write(...rays(0, 1))
  await bench.clock.until(() => bench.status(1)?.error_message !== undefined && hang.attempts.length > 1)
  t.equal(bench.status(1)?.error_message, 'the destination did not respond within 300 s')
  for (let i = 1; i < 4; i++) {
    await bench.write(...rays(i, i + 1))
    await bench.clock.until(() => bench.sink('test://well').arrived.length === i + 1, { most: 300 })
  }
  t.equal(bench.sink('test://well').text, textOf(0, 4))
})
