import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { limitsOf } from '../../../pipelines/logpush/settings/limits.js'
import { LOGPUSH_JOBS } from '../../../src/core/model/logpush-job.js'
import { Bench, DEFAULTS, OPTIONS, rays, refused, textOf, transient, ZONE } from './jobs-helper.js'

t.test('records arrive after the interval, as one batch named by its times', async (t) => {
  const bench = await Bench.open(t)
  await bench.job(1)
  await bench.write(...rays(0, 2))
  await bench.clock.pass(10_000)
  await bench.write(...rays(2, 3))
  await bench.clock.pass(15_000)
  t.strictSame(bench.sink().arrived, [], 'not before')
  await bench.clock.until(() => bench.sink().arrived.length > 0)
  t.match(bench.sink().arrived, [{ text: textOf(0, 3), records: 3 }])
  t.match(bench.sink().names[0], /^20261121T1015\d\dZ_20261121T1015\d\dZ_[0-9a-f]{8}$/)
  await bench.clock.until(() => bench.status(1)?.last_complete !== undefined)
  t.match(bench.status(1), {
    last_complete: bench.sink().arrived[0]!.to,
    last_error: null,
    error_message: null,
    failing_since: null,
  })
  await bench.clock.pass(120_000)
  t.equal(bench.sink().attempts.length, 1, 'no empty batch follows')
  t.match(await bench.metrics.metrics(), /edged_logpush_records_delivered_total\{job="1"\} 3/)
  t.match(await bench.metrics.metrics(), /edged_logpush_lag_records\{job="1"\} 0/)
})

t.test('what a job says about its batches, in new words and old ones', (t) => {
  const limits = (job: Parameters<typeof limitsOf>[0]) => {
    const { bytes, records, intervalMs } = limitsOf(job)
    return [bytes, records, intervalMs]
  }
  t.same(limits({}), [1e9, 100_000, 30_000])
  t.same(limits({ frequency: 'high' }), [1e9, 100_000, 30_000])
  t.same(limits({ frequency: 'low' }), [1e9, 100_000, 300_000])
  t.same(limits({ frequency: 'low', max_upload_interval_seconds: 60 }), [1e9, 100_000, 60_000])
  t.same(limits({ frequency: 'low', max_upload_interval_seconds: 0 }), [1e9, 100_000, Infinity])
  t.same(limits({ max_upload_bytes: 0, max_upload_records: 0 }), [1e9, Infinity, 30_000])
  t.end()
})

t.test('a batch ends at its records, at the bytes of the destination, and holds what is larger alone', async (t) => {
  const bench = await Bench.open(t)
  bench.sink('test://few').limits = { bytes: 25 }
  await bench.job(1, { max_upload_records: 4 })
  await bench.job(2, {
    to: 'test://few',
    output_options: {
      field_names: ['RayID'],
      record_template: '{{.RayID}}',
      record_prefix: '',
      record_suffix: ',',
      batch_prefix: '[',
      batch_suffix: ']',
    },
  })
  await bench.write(...rays(0, 10), { RayID: 'x'.repeat(40) }, ...rays(10, 11))
  await bench.clock.until(() => bench.sink().arrived.length >= 3 && bench.sink('test://few').arrived.length >= 5)
  t.strictSame(
    bench.sink().arrived.map(({ records }) => records),
    [4, 4, 4],
  )
  t.strictSame(
    bench.sink('test://few').arrived.map(({ text }) => text),
    ['["r0","r1","r2","r3",]', '["r4","r5","r6","r7",]', '["r8","r9",]', `["${'x'.repeat(40)}",]`, '["r10",]'],
  )
})

t.test('a filter, sampling and attack traffic decide what is sent', async (t) => {
  const bench = await Bench.open(t)
  const filter = '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}'
  await bench.job(1, { filter, filter_attack_traffic: true })
  await bench.job(2, {
    to: 'test://b',
    output_options: { field_names: ['RayID'], record_template: '{{.RayID}}', sample_rate: 0.3 },
  })
  const many = rays(0, 1000).map((record, i) => ({ ...record, EdgeResponseStatus: i % 100 === 0 ? 503 : 200 }))
  await bench.write(...many, { RayID: 'attack', EdgeResponseStatus: 503, SecuritySources: ['l7ddos'] })
  await bench.clock.until(() => bench.sink().arrived.length > 0 && bench.sink('test://b').arrived.length > 0)
  t.equal(bench.sink().text, Array.from({ length: 10 }, (_, i) => `"r${i * 100}"\n`).join(''))
  const { records } = bench.sink('test://b').arrived[0]!
  t.ok(records > 240 && records < 360, `${records} of 1001 records`)
})

t.test('a job that keeps nothing moves on without a batch', async (t) => {
  const bench = await Bench.open(t)
  await bench.job(1, { filter: '{"where":{"key":"RayID","operator":"eq","value":"nobody"}}' })
  await bench.write(...rays(0, 500))
  const spool = await bench.spools.open('http_requests', ZONE)
  const cursor = await spool.cursor('job-1')
  await bench.clock.until(() => cursor.state.next === 500)
  t.strictSame(bench.sink().attempts, [])
  t.equal(bench.status(1), undefined)
})

t.test(
  'the same batch is tried again, byte for byte, until it arrives; then those that waited, in order',
  async (t) => {
    const bench = await Bench.open(t)
    const sink = bench.sink()
    sink.response = (_batch, attempt) => {
      if (attempt < 5) throw transient()
    }
    await bench.job(1, { max_upload_records: 1000 })
    await bench.write(...rays(0, 10))
    await bench.clock.until(() => sink.attempts.length === 2)
    await bench.clock.until(() => bench.status(1)?.error_message === 'sink.test responded with 503')
    t.type(bench.status(1)?.last_error, 'string')
    await bench.write(...rays(10, 2500))
    await bench.clock.until(() => sink.arrived.length === 4)
    const [first, ...again] = sink.attempts.slice(0, 5)
    for (const attempt of again) t.strictSame(attempt, first)
    t.equal(sink.text, textOf(0, 2500))
    await bench.clock.until(() => bench.status(1)?.error_message === null)
    t.match(bench.status(1), { last_error: null, last_complete: sink.arrived.at(-1)!.to })
  },
)

t.test('Retry-After of a destination is honoured', async (t) => {
  const bench = await Bench.open(t)
  const at: number[] = []
  bench.sink().response = (_batch, attempt) => {
    at.push(bench.clock.monotonic())
    if (attempt === 1) throw transient(600_000)
    if (attempt < 4) throw refused()
  }
  await bench.job(1)
  await bench.write(...rays(0, 1))
  await bench.clock.until(() => bench.sink().arrived.length === 1, { step: 1000 })
  const [first = 0, second = 0, third = 0, fourth = 0] = at.map((time, i) => time - (at[i - 1] ?? time))
  t.equal(first, 0)
  t.ok(second >= 600_000, 'Retry-After')
  for (const slow of [third, fourth]) t.ok(slow >= 60_000 && slow <= 301_000, `${slow} ms where it refuses`)
})

t.test('after a restart the batch under way has its name and bytes again', async (t) => {
  const bench = await Bench.open(t)
  const sink = bench.sink()
  // It has the batch, and its answer is lost.
  sink.response = () => {
    throw transient()
  }
  const output_options = { output_type: 'csv', field_names: ['RayID'], sample_rate: 0.5 }
  await bench.job(1, { output_options })
  await bench.write(...rays(0, 300))
  await bench.clock.until(() => sink.attempts.length === 1)
  await bench.stop()
  sink.response = () => {}
  await bench.start()
  await bench.write(...rays(300, 310))
  await bench.clock.until(() => sink.arrived.length === 2)
  t.strictSame(sink.arrived[0], sink.attempts[0])
  t.notMatch(sink.arrived[1]!.text, /"r299"/)
  t.equal(new Set(sink.names).size, 2)
})

t.test('records that wait for their interval outlive a restart', async (t) => {
  const bench = await Bench.open(t)
  await bench.job(1)
  await bench.write(...rays(0, 3))
  await bench.clock.pass(5000)
  await bench.restart()
  await bench.clock.until(() => bench.sink().arrived.length === 1)
  t.equal(bench.sink().text, textOf(0, 3))
})

t.test('ten minutes without a destination: what came meanwhile arrives in order and once', async (t) => {
  const bench = await Bench.open(t)
  const sink = bench.sink()
  sink.response = () => {
    throw transient()
  }
  await bench.job(1, { max_upload_records: 1000 })
  const MINUTES = 10
  const PER_MINUTE = 2500
  for (let minute = 0; minute < MINUTES; minute++) {
    await bench.write(...rays(minute * PER_MINUTE, (minute + 1) * PER_MINUTE))
    await bench.clock.pass(60_000, 1000)
  }
  t.equal(sink.arrived.length, 0)
  t.match(bench.status(1), { last_complete: null, error_message: 'sink.test responded with 503' })
  const all = MINUTES * PER_MINUTE
  t.match(await bench.metrics.metrics(), new RegExp(`edged_logpush_lag_records\\{job="1"\\} ${all}\\n`))

  sink.response = () => {}
  await bench.clock.until(() => sink.text.endsWith(`"r${all - 1}"\n`))
  t.ok(sink.text === textOf(0, all), 'in order, each once')
  t.equal(new Set(sink.names).size, sink.names.length)
  t.equal(sink.names[0], sink.attempts[0]!.name, 'the first is the one that was tried all the time')
  await bench.clock.until(() => bench.status(1)?.error_message === null)
})

t.test('a disabled job sends what it has read, and nothing of what comes while it is disabled', async (t) => {
  const bench = await Bench.open(t)
  await bench.job(1)
  await bench.job(2, { to: 'test://other' })
  await bench.write(...rays(0, 2))
  await bench.clock.pass(2000)
  await bench.job(1, { enabled: false })
  t.equal(bench.sink().text, textOf(0, 2))
  await bench.write({ RayID: 'lost' })
  await bench.job(1, { enabled: true })
  await bench.write(...rays(2, 3))
  await bench.clock.until(() => bench.sink().arrived.length === 2)
  t.equal(bench.sink().text, textOf(0, 3))
  await bench.clock.until(() => bench.sink('test://other').text.endsWith('"r2"\n'))
  t.match(bench.sink('test://other').text, /lost/, 'which another job gets')
})

t.test(
  'records that are accepted after a job was disabled are not delivered, even during its last upload',
  async (t) => {
    const bench = await Bench.open(t)
    let finish = () => {}
    bench.sink().response = async () => await new Promise<void>((resolve) => (finish = resolve))
    await bench.job(1, { max_upload_records: 2 })
    await bench.write(...rays(0, 3))
    await bench.clock.until(() => bench.sink().attempts.length === 1)
    await bench.change(1, { enabled: false })
    const spool = await bench.spools.open('http_requests', ZONE)
    await bench.write({ RayID: 'late' })
    const gone = bench.clock.until(() => {
      finish()
      return spool.cursors.length === 0
    })
    await gone
    t.equal(bench.sink().text, textOf(0, 3))
  },
)

t.test('changed settings are used from the next batch on, although records wait', async (t) => {
  const bench = await Bench.open(t)
  let finish = () => {}
  bench.sink().response = async () => await new Promise<void>((resolve) => (finish = resolve))
  await bench.job(1, { max_upload_records: 2 })
  for (let i = 0; i < 20; i += 2) await bench.write(...rays(i, i + 2))
  await bench.clock.until(() => bench.sink().attempts.length === 1)
  await bench.change(1, { output_options: { ...OPTIONS, record_suffix: ' new\n' } })
  await bench.clock.until(() => {
    finish()
    return bench.sink().text.split('\n').length > 20
  })
  // The batch that waited for the place of the first one was complete.
  t.equal(bench.sink().text.match(/"\n/g)?.length, 4)
  t.strictSame(
    bench.sink().text.match(/r\d+/g),
    rays(0, 20).map(({ RayID }) => RayID),
  )
})

t.test('a job that is removed leaves nothing behind', async (t) => {
  const bench = await Bench.open(t)
  bench.sink().response = () => {
    throw transient()
  }
  await bench.job(1)
  await bench.write(...rays(0, 2))
  await bench.clock.until(() => bench.status(1) !== undefined)
  await bench.remove(1)
  const [spool] = bench.spools.all()
  await bench.clock.until(() => spool!.cursors.length === 0 && bench.status(1) === undefined)
  t.notMatch(await bench.metrics.metrics(), /job="1"/)
  t.equal(bench.sink().open, 0)
})

t.test('no batch goes beyond midnight where a destination has a folder for each day', async (t) => {
  const bench = await Bench.open(t)
  bench.sink().daily = true
  await bench.job(1, { max_upload_interval_seconds: 300 })
  await bench.clock.pass(Date.parse('2026-11-21T23:59:00Z') - bench.clock.now(), 60_000)
  await bench.write(...rays(0, 1))
  await bench.clock.until(() => bench.clock.now() > Date.parse('2026-11-22T00:00:10Z'))
  await bench.write(...rays(1, 2))
  await bench.clock.until(() => bench.sink().arrived.length === 2)
  t.match(bench.sink().arrived, [
    { text: textOf(0, 1), from: /^2026-11-21/, to: /^2026-11-21/ },
    { text: textOf(1, 2), from: /^2026-11-22/, to: /^2026-11-22/ },
  ])
})

t.test('with the option set, a disabled job finds the records of the time it was disabled', async (t) => {
  const bench = await Bench.open(t, { retain_while_disabled: true })
  await bench.job(1)
  await bench.change(1, { enabled: false })
  await bench.write(...rays(0, 2))
  await bench.restart()
  await bench.write(...rays(2, 3))
  await bench.clock.pass(60_000)
  t.strictSame(bench.sink().attempts, [])
  await bench.change(1, { enabled: true })
  await bench.clock.until(() => bench.sink().arrived.length === 1)
  t.equal(bench.sink().text, textOf(0, 3))
})

t.test('a stop waits for the upload in progress for a limited time', async (t) => {
  const bench = await Bench.open(t)
  const sink = bench.sink()
  let responded = () => {}
  sink.response = async () => await new Promise<void>((resolve) => (responded = resolve))
  await bench.job(1)
  await bench.write(...rays(0, 1))
  await bench.clock.until(() => sink.attempts.length === 1)
  const stopped = bench.stop()
  responded()
  await stopped
  t.equal(sink.arrived.length, 1)
  await bench.start()
  await bench.write(...rays(1, 2))
  await bench.clock.until(() => sink.attempts.length === 2)
  const before = bench.clock.monotonic()
  await bench.stop()
  t.ok(bench.clock.monotonic() - before >= DEFAULTS.uploads.drain_timeout)
  sink.response = () => {}
  await bench.start()
  await bench.clock.until(() => sink.arrived.length === 2)
  t.strictSame(sink.arrived[1], sink.attempts[1], 'it is sent again')
})

t.test('numbers come out as they went in', async (t) => {
  const bench = await Bench.open(t)
  const output_options = { field_names: ['EdgeStartTimestamp', 'EdgeResponseBytes', 'OriginDNSResponseTimeMs'] }
  await bench.job(1, { output_options })
  const line =
    '{"EdgeStartTimestamp":1795266000123456789,"EdgeResponseBytes":18446744073709551615,"OriginDNSResponseTimeMs":1e21}'
  await bench.lines(line)
  await bench.clock.until(() => bench.sink().arrived.length === 1)
  t.equal(bench.sink().text, `${line}\n`)
})

t.test('a stream has what comes from now on, and ends with its signal', async (t) => {
  const bench = await Bench.open(t)
  const job = bench.logpush.compile({ dataset: 'http_requests', logpull_options: 'fields=RayID' }, 'live')
  const end = new AbortController()
  const got: string[] = []
  const reading = (async () => {
    for await (const text of bench.logpush.live(ZONE, job, end.signal)) got.push(Buffer.from(text).toString())
  })()
  await bench.clock.until(() => [...bench.spools.all()].some(({ cursors }) => cursors.length === 1))
  await bench.write(...rays(0, 2))
  await bench.clock.until(() => got.length > 0)
  t.strictSame(got, ['{"RayID":"r0"}\n{"RayID":"r1"}\n'])
  end.abort()
  await reading
  t.strictSame(
    [...bench.spools.all()].map(({ cursors }) => cursors),
    [[]],
  )
})

t.test('a job whose destination cannot be opened says what to do, and the others run', async (t) => {
  const bench = await Bench.open(t)
  const lost = await bench.change(1, { to: 'test://a' })
  await bench.job(2, { to: 'test://b' })
  const value = { ...lost, destination_conf: { sealed: 'under another key' } }
  await bench.store.batch([{ kind: LOGPUSH_JOBS, scope: ZONE, id: '1', value }])
  await bench.restart()
  await bench.write(...rays(0, 3))
  await bench.clock.until(() => bench.sink('test://b').text === textOf(0, 3))
  await bench.clock.until(() => bench.status(1)?.error_message != null)
  t.match(bench.status(1)?.error_message, /^\/destination_conf cannot be opened .* secrets\.old_keys/)
  await bench.change(1, { to: 'test://a' })
  await bench.clock.until(() => bench.sink('test://a').text === textOf(0, 3))
})

t.test(
  'a job of the configuration whose spool cannot be opened keeps nobody from starting, and is tried again',
  async (t) => {
    const bench = await Bench.open(t)
    const sink = bench.sink('test://own')
    bench.standing = ['own']
    await bench.restart()
    await bench.write(...rays(0, 3))
    await bench.clock.until(() => sink.text === textOf(0, 3))
    await bench.stop()
    const folder = join(bench.folder, 'spool', 'scopes', `zone-${ZONE.id}`, 'http_requests')
    renameSync(folder, `${folder}-away`)
    writeFileSync(folder, 'no folder')
    await bench.start()
    rmSync(folder)
    renameSync(`${folder}-away`, folder)
    await bench.clock.pass(30_000)
    await bench.write(...rays(3, 6))
    await bench.clock.until(() => sink.text === textOf(0, 6))
  },
)

// Texts that are not compressed were kept in memory that the job went on writing to.
for (const encoding of ['identity', 'gzip'] as const)
  t.test(`a large batch arrives as it is, also when it is tried again: ${encoding}`, async (t) => {
    const bench = await Bench.open(t)
    const sink = bench.sink()
    sink.encoding = encoding
    sink.response = (_batch, attempt) => {
      if (attempt === 1) throw transient()
    }
    await bench.job(1)
    for (let from = 0; from < 120_000; from += 10_000) await bench.write(...rays(from, from + 10_000))
    await bench.clock.until(() => sink.arrived.reduce((sum, { records }) => sum + records, 0) === 120_000)
    t.ok(sink.text === textOf(0, 120_000))
  })
