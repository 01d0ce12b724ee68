import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { PipelineMonitor } from '../../pipelines/logpush/monitor.js'
import { RunStats } from '../../pipelines/sources/intake/run-stats.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { readPipelines } from '../../src/config/pipeline-file.js'
import type { BadConfig } from '../../src/config/yaml.js'
import { readConfig } from '../../src/config/load.js'
import { systemClock as clock } from '../../src/core/clock.js'
import { silentLog as log } from '../../src/core/log.js'
import { destinationChecks } from '../../src/daemon/pipelines/destinations.js'
import { runPipeline } from '../../src/daemon/pipelines/run.js'
import { startPipelines } from '../../src/daemon/pipelines/pipelines.js'
import { testFolder } from '../helpers/folder.js'
import { programArgs } from '../helpers/program.js'
import { receiver } from '../helpers/record-receiver.js'
import { until } from '../helpers/web.js'

const CHILD = programArgs(new URL('../helpers/run-child.ts', import.meta.url))
const checks = destinationChecks({ clock, log })

const recordsOf = (count: number, from = 0, more = ''): string =>
  Array.from(
    { length: count },
    (_, n) => `{"RayID":"r${from + n}","EdgeResponseStatus":${(from + n) % 4 === 0 ? 500 : 200}${more}}\n`,
  ).join('')

/** Two routes: server errors to `errors`, everything to `all`. */
const twoRoutes = (source: string, errors: string, all: string, more = '') => `source: ${source}
dataset: http_requests
${more}
routes:
  - name: errors
    filter: { where: { key: EdgeResponseStatus, operator: geq, value: 500 } }
    output_options: { output_type: csv, field_names: [RayID] }
    max_upload_records: 1000
    destination_conf: ${errors}
  - name: all
    output_options: { output_type: csv, field_names: [RayID] }
    max_upload_records: 1000
    destination_conf: ${all}
    retry_for: 5m
`

function started(folder: string, text: string, { resume = false } = {}) {
  const [pipeline] = readPipelines(text, join(folder, 'p.yaml'), checks, {})
  const messages: string[] = []
  const stats = new RunStats((place, message) => messages.push(`${place}: ${message}`))
  const stop = new AbortController()
  const alive = setInterval(() => {}, 2 ** 30)
  const tell = (message: string) => void messages.push(message)
  const options = { state: join(folder, 'state'), resume, stats, tell, size() {}, stop: stop.signal, clock, log }
  const ended = runPipeline(pipeline!, options).finally(() => clearInterval(alive))
  ended.catch(() => undefined)
  return { stats, messages, ended, stop: () => stop.abort() }
}

t.test('issues of routes have the place of the route', async (t) => {
  const text = `source: stdin
dataset: http_requests
filter: ''
routes:
  - { name: a, destination_conf: 'stdout://' }
  - { name: a, destination_conf: 'nope://' }
  - { name: 'b/c', destination_conf: 'stdout://', output_options: { field_names: [Nope] } }
  - { name: d, destination_conf: 'stdout://', filter: { where: { key: No, operator: eq, value: 1 } }, colour: red }
  - { name: e }
`
  const faults = (() => {
    try {
      return readPipelines(text, '/logs/p.yaml', checks, {})
    } catch (error) {
      return (error as BadConfig).faults.map(({ line, message }) => `${line} ${message}`)
    }
  })()
  t.match(faults, [
    /^3 filter is for pipelines without routes; write it in each route/,
    /^6 routes.1.name duplicate route name a/,
    /^6 routes.1.destination_conf must begin with/,
    /^7 routes.2.name must be at most 50 letters/,
    /^7 routes.2.output_options.field_names.0 /,
    /^8 routes.3.filter.where.key is not a field/,
    /^8 routes.3.colour is not a known member/,
    /^9 routes.4.destination_conf is required/,
  ])
  const none = 'source: stdin\ndataset: http_requests\n'
  t.throws(() => readPipelines(none, 'p.yaml', checks, {}), { message: /destination_conf is required, or routes/ })
  t.throws(() => readPipelines(`${none}routes: []`, 'p.yaml', checks, {}), { message: /routes must be 1 to 32 routes/ })
})

t.test('each route gets its records from one read, and a run leaves only its place in the files', async (t) => {
  for (const [name, bytes] of [
    ['a.ndjson', Buffer.from(`${recordsOf(4000)}broken\n`)],
    ['a.gz', gzipSync(`${recordsOf(4000)}broken\n`)],
  ] as const) {
    const folder = testFolder(t, { [name]: bytes })
    const [errors, all] = [await receiver(t), await receiver(t)]
    const text = twoRoutes(`{ file: ${name} }`, errors.url, all.url)
    const { stats, ended } = started(folder, text)
    t.same(await ended, { end: 'done' })
    t.equal(errors.arrived.size, 1000)
    t.equal(all.arrived.size, 4000)
    t.strictSame([...errors.repeated(), ...all.repeated()], [])
    t.match(stats, { read: 4001, rejected: 1, delivered: 5000, kept: 5000 })
    t.match(stats.output('errors'), { delivered: 1000, batches: 1 })
    t.match(stats.output('all'), { delivered: 4000, batches: 4 })
    t.strictSame(readdirSync(join(folder, 'state', 'p')), ['input'], 'no record is kept')
    const again = started(folder, text, { resume: true })
    t.same(await again.ended, { end: 'done' })
    t.equal(again.stats.delivered, 0, 'a run that continues sends nothing again')
  }
})

t.test('a route that fails stops no other, and the next run sends only its records', async (t) => {
  const folder = testFolder(t, { 'a.ndjson': recordsOf(4000) })
  const [errors, all] = [await receiver(t), await receiver(t)]
  errors.state.isDown = true
  const text = twoRoutes('{ file: a.ndjson }', errors.url, all.url, 'retry_for: 0s')
  const { stats, ended, messages } = started(folder, text)
  t.match(await ended, { end: 'gave_up', message: /^route errors: .*503/ })
  t.equal(all.arrived.size, 4000)
  t.equal(errors.arrived.size, 0)
  t.match(stats.output('all'), { delivered: 4000 })
  t.match(messages, [/^p\/errors: .*503.*; trying again/])
  errors.state.isDown = false
  appendFileSync(join(folder, 'a.ndjson'), recordsOf(400, 4000))
  const second = started(folder, text, { resume: true })
  t.same(await second.ended, { end: 'done' })
  t.equal(errors.arrived.size, 1100)
  t.equal(all.arrived.size, 4400)
  t.strictSame([...errors.repeated(), ...all.repeated()], [])
})

t.test('records of a route that failed hold the others back only when the spool is full', async (t) => {
  const folder = testFolder(t, { 'a.ndjson': recordsOf(30_000, 0, `,"ClientRequestUserAgent":"${'x'.repeat(300)}"`) })
  const [errors, all] = [await receiver(t), await receiver(t)]
  errors.state.isDown = true
  const text = twoRoutes('{ file: a.ndjson }', errors.url, all.url, 'retry_for: 0s\nspool_bytes: 4MB')
  const { ended, messages } = started(folder, text)
  t.match(await ended, { end: 'gave_up', message: /route errors/ })
  t.match(
    messages.find((message) => message.includes('spool_bytes')),
    /^p: reading waits: spool_bytes, 4000000, are full of records that are not delivered; route errors is behind most/,
  )
  const before = all.arrived.size
  t.ok(before > 1000 && before < 30_000, `${before} records went on`)
  errors.state.isDown = false
  const second = started(folder, text, { resume: true })
  t.same(await second.ended, { end: 'done' })
  t.equal(errors.arrived.size, 7500)
  t.equal(all.arrived.size, 30_000)
  t.strictSame([...errors.repeated(), ...all.repeated()], [])
})

t.test('kill -9 in between loses no record of any route', async (t) => {
  const folder = testFolder(t, { log: recordsOf(2000) })
  const [errors, all] = [await receiver(t), await receiver(t)]
  const file = join(folder, 'p.yaml')
  writeFileSync(file, twoRoutes("{ file: ['log'], follow: true }", errors.url, all.url))
  const env = { ...process.env, NODE_NO_WARNINGS: '1' }
  const child = () => spawn(process.execPath, [...CHILD, file, join(folder, 'state')], { env, stdio: 'ignore' })
  errors.state.isDown = true
  let written = 2000
  for (let round = 0; round < 3; round++) {
    const process = child()
    t.teardown(() => process.kill('SIGKILL'))
    appendFileSync(join(folder, 'log'), recordsOf(2000, written))
    written += 2000
    // The other route goes on while this one fails.
    const expected = written
    await until(() => all.arrived.size >= expected - 1000)
    process.kill('SIGKILL')
    await once(process, 'exit')
  }
  errors.state.isDown = false
  const last = child()
  await until(() => errors.arrived.size >= 1000)
  last.kill('SIGTERM')
  await once(last, 'exit')
  t.equal(errors.arrived.size, written / 4)
  t.equal(all.arrived.size, written)
  t.strictSame([...errors.repeated(), ...all.repeated()], [], 'batches are sent again only under their own names')
})

t.test('a route that is renamed gets what the old one had not delivered', async (t) => {
  const folder = testFolder(t, { 'a.ndjson': recordsOf(4000) })
  const [errors, all] = [await receiver(t), await receiver(t)]
  errors.state.isDown = true
  const text = twoRoutes('{ file: a.ndjson }', errors.url, all.url, 'retry_for: 0s')
  t.match(await started(folder, text).ended, { end: 'gave_up' })
  errors.state.isDown = false
  const renamed = text.replace('name: errors', 'name: failures')
  t.same(await started(folder, renamed, { resume: true }).ended, { end: 'done' })
  t.equal(errors.arrived.size, 1000)
  t.equal(all.arrived.size, 4000)
})

t.test('routes of a daemon have series and states of their own, and one that fails begins again', async (t) => {
  const folder = testFolder(t)
  const [errors, all] = [await receiver(t), await receiver(t)]
  errors.state.isDown = true
  const document = twoRoutes("{ http: '127.0.0.1:0' }", errors.url, all.url, 'name: web\nretry_for: 0s')
  const indented = document.replaceAll('\n', '\n    ')
  const config = readConfig(`data: ./data\npipelines:\n  - ${indented}`, join(folder, 'edged.yaml'), {}, checks)
  const metrics = openMetrics({ process: false })
  const monitor = new PipelineMonitor([metrics])
  const listening: string[] = []
  const logged = { ...log, info: (_facts: object, message?: string) => void (message && listening.push(message)) }
  const running = startPipelines(config, { clock, log: logged as typeof log, monitor })
  await until(() => listening.some((message) => message.includes('listening on')))
  const url = listening
    .find((message) => message.includes('listening on'))!
    .split(' ')
    .at(-1)!
  const response = await fetch(url, { method: 'POST', body: recordsOf(4000) })
  t.same(await response.json(), { accepted: 4000, rejected: [] })
  await until(() => all.arrived.size === 4000 && listening.some((message) => message.includes('web/errors')))
  t.match(
    monitor.list().map(({ name, route, state }) => [name, route, state()]),
    [
      ['web', 'errors', 'failing'],
      ['web', 'all', 'running'],
    ],
  )
  await until(() => monitor.list()[1]!.counts.delivered === 4000)
  const text = await metrics.metrics()
  t.match(text, /^edged_pipeline_records_delivered_total\{pipeline="web",route="all"\} 4000$/m)
  t.match(text, /^edged_pipeline_records_delivered_total\{pipeline="web",route="errors"\} 0$/m)
  t.match(text, /^edged_pipeline_records_read_total\{pipeline="web"\} 4000$/m)
  t.equal(text.match(/^edged_pipeline_records_read_total\{/gm)?.length, 1, 'a read is counted once')
  await running.close()
  errors.state.isDown = false
  const second = startPipelines(config, { clock, log, monitor })
  await until(() => errors.arrived.size === 1000)
  await second.close()
  t.strictSame(errors.repeated(), [])
  t.notOk(existsSync(join(folder, 'data', 'pipelines', 'web', 'input')))
})
