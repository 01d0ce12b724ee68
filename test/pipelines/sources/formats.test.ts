import { connect } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { readFileSync, readdirSync, writeFileSync, appendFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { MessageIntake } from '../../../pipelines/sources/intake/message-intake.js'
import { RunStats } from '../../../pipelines/sources/intake/run-stats.js'
import { storedDataset } from '../../../pipelines/records/index.js'
import { lineFormat } from '../../../pipelines/records/text/index.js'
import type { FrameWriter } from '../../../pipelines/logpush/spool/types.js'
import { readPipelines } from '../../../src/config/pipeline-file.js'
import { BadConfig } from '../../../src/config/yaml.js'
import { systemClock as clock } from '../../../src/core/clock.js'
import { silentLog as log } from '../../../src/core/log.js'
import { destinationChecks } from '../../../src/daemon/pipelines/destinations.js'
import { runPipeline } from '../../../src/daemon/pipelines/run.js'
import { testFolder } from '../../helpers/folder.js'
import { until } from '../../helpers/web.js'

const checks = destinationChecks({ clock, log })
const TIME = '[21/Nov/2026:13:00:00 +0000]'
const line = (target: string, status = 200) => `192.0.2.1 - - ${TIME} "GET ${target} HTTP/1.1" ${status} 5 "-" "test"`

/** Starts a pipeline from a source to NDJSON files. */
function started(t: Test, folder: string, source: object, more = '') {
  const text = `name: p\nsource: ${JSON.stringify(source)}\ndataset: any\ndestination_conf: file:out\n${more}`
  const [pipeline] = readPipelines(text, join(folder, 'p.yaml'), checks, {})
  const rejected: string[] = []
  const stats = new RunStats((place, message) => rejected.push(`${place}: ${message}`))
  const stopping = new AbortController()
  const told: string[] = []
  // Waits of the product do not keep a process alive.
  const alive = setInterval(() => {}, 2 ** 30)
  const options = { state: join(folder, 'state'), resume: true, stats, size() {}, stop: stopping.signal, clock, log }
  const ended = runPipeline(pipeline!, { ...options, tell: (message) => void told.push(message) }).finally(() =>
    clearInterval(alive),
  )
  t.teardown(() => stopping.abort())
  const listening = async () => {
    await until(() => told.some((message) => message.includes('listening on')))
    return new URL(
      told
        .find((message) => message.includes('listening on'))!
        .split(' ')
        .at(-1)!,
    )
  }
  return { ended, rejected, stats, stop: () => stopping.abort(), listening }
}

const written = (folder: string): Record<string, unknown>[] =>
  readdirSync(join(folder, 'out'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8').split('\n'))
    .filter((text) => text !== '')
    .map((text) => JSON.parse(text) as Record<string, unknown>)

t.test('files are read in their format, plain and gzip, and invalid lines are reported with their place', async (t) => {
  const folder = testFolder(t, { 'a.log': `${line('/a')}\r\n\n[error] not a line\n${line('/b')}` })
  writeFileSync(join(folder, 'b.log.gz'), gzipSync(`${line('/c')}\n`))
  const run = started(t, folder, { file: ['./a.log', './b.log.gz'], format: 'combined' })
  await run.ended
  t.strictSame(
    written(folder).map(({ target, status }) => [target, status]),
    [
      ['/a', 200],
      ['/b', 200],
      ['/c', 200],
    ],
  )
  t.match(run.rejected, [/a\.log:3: .* is not in the format$|a\.log:3: /])
  t.equal(run.stats.read, 4)
})

t.test('a file of text may begin with a bracket, and what was added is read by the next run', async (t) => {
  const folder = testFolder(t, { 'error.log': '[1] one\n[2] two\n' })
  const source = { file: './error.log', format: { regex: '^\\[(?<n>[0-9]+)\\] (?<message>.*)$' } }
  await started(t, folder, source, 'schema: { n: int }').ended
  appendFileSync(join(folder, 'error.log'), '[x] three\n[4] four\n')
  const next = started(t, folder, source, 'schema: { n: int }')
  await next.ended
  t.strictSame(
    written(folder).sort((a, b) => Number(a['n']) - Number(b['n'])),
    [
      { n: 1, message: 'one' },
      { n: 2, message: 'two' },
      { n: 4, message: 'four' },
    ],
  )
  t.match(next.rejected, [/error\.log:3: the line does not match the pattern/])
})

t.test('filters and routes see the fields of lines', async (t) => {
  const folder = testFolder(t, { 'a.log': `${line('/a', 500)}\n${line('/b')}\n` })
  const text = `
source: { file: ./a.log, format: combined }
dataset: any
schema: { status: int, time: timestamp }
routes:
  - name: errors
    filter: { where: { key: status, operator: geq, value: 500 } }
    output_options: { field_names: [time, target], timestamp_format: unix }
    destination_conf: file:out
`
  const [pipeline] = readPipelines(text, join(folder, 'p.yaml'), checks, {})
  const alive = setInterval(() => {}, 2 ** 30)
  const stop = new AbortController().signal
  const stats = new RunStats((place, message) => t.fail(`${place}: ${message}`))
  const options = { state: join(folder, 'state'), resume: true, stats, tell() {}, size() {}, stop, clock, log }
  await runPipeline(pipeline!, options).finally(() => clearInterval(alive))
  t.strictSame(written(folder), [{ time: 1795266000, target: '/a' }])
})

t.test('followed files have lines in the format, also if they begin with a bracket', async (t) => {
  const folder = testFolder(t, { 'a.log': '[1] one\n' })
  const run = started(t, folder, { file: { paths: ['./*.log'], follow: true }, format: 'text' })
  await until(() => run.stats.read === 1)
  appendFileSync(join(folder, 'a.log'), '[2] two\n')
  await until(() => run.stats.read === 2)
  run.stop()
  await run.ended
  t.strictSame(written(folder), [{ message: '[1] one' }, { message: '[2] two' }])
})

t.test('requests have lines in the format, and the response names those that do not match', async (t) => {
  const folder = testFolder(t)
  const run = started(t, folder, { http: '127.0.0.1:0', format: 'logfmt' })
  const response = await fetch(await run.listening(), {
    method: 'POST',
    body: 'level=info n=1\nhello\nlevel=warn n=2\n',
  })
  t.match(await response.json(), { accepted: 2, rejected: [{ line: 2, message: /is not logfmt/ }] })
  run.stop()
  await run.ended
  t.strictSame(written(folder), [
    { level: 'info', n: '1' },
    { level: 'warn', n: '2' },
  ])
})

t.test('the message of a syslog entry is the line, whatever the dataset', async (t) => {
  const folder = testFolder(t)
  const run = started(t, folder, { syslog: { listen: '127.0.0.1:0' }, format: 'combined' })
  const { hostname, port } = await run.listening()
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.end(`<190>Nov 21 13:00:00 web nginx: ${line('/s')}\n<190>Nov 21 13:00:00 web nginx: x\n`)
  await until(() => run.stats.read === 2)
  run.stop()
  await run.ended
  t.match(written(folder), [{ target: '/s', method: 'GET' }])
  t.match(run.rejected, [/^syslog 127\.0\.0\.1: /])
})

t.test('messages of streams are lines, with or without their end', async (t) => {
  const added: string[] = []
  const writer = { add: (bytes: Uint8Array) => void added.push(Buffer.from(bytes).toString()) } as FrameWriter
  const stats = new RunStats((place, message) => added.push(`${place}: ${message}`))
  const intake = new MessageIntake(writer, stats, lineFormat('text', storedDataset('any')!))
  for (const text of ['a', 'b\n', 'c\r\n'])
    intake.add(
      () => 'place',
      () => Buffer.from(text),
    )
  // The record of a line that consists of control characters is larger than the line.
  intake.add(
    () => 'topic/0 7',
    () => Buffer.alloc(500_000, 1),
  )
  t.strictSame(added, [
    '{"message":"a"}',
    '{"message":"b"}',
    '{"message":"c"}',
    'topic/0 7: the record is longer than 1048576 bytes',
  ])
})

t.test('a format that cannot be used has its place', async (t) => {
  const issues = (source: string) => {
    const text = `source: ${source}\ndataset: any\ndestination_conf: file:out\n`
    try {
      readPipelines(text, '/p.yaml', checks, {})
      return ''
    } catch (error) {
      if (!(error instanceof BadConfig)) throw error
      return error.message
    }
  }
  t.match(issues('{ file: a, format: apache }'), /1:\d+: source\.format.* must be json, combined, common, logfmt, text/)
  t.match(
    issues('{ file: a, format: { regex: "(" } }'),
    /source\.format\.regex.* is not a regular expression: unclosed group/,
  )
  t.match(issues('{ file: a, format: { regex: "a" } }'), /source\.format\.regex.* has no named groups/)
  t.match(issues('{ file: a, format: { pattern: "a" } }'), /source\.format/)
  t.match(issues('{ redis_stream: "redis://a", key: k, format: text }'), /format/)
  t.match(
    issues('{ syslog: { listen: "127.0.0.1:1", record: event }, format: text }'),
    /source\.format.* is for record: message/,
  )
  for (const source of [
    '{ file: a, format: json }',
    '{ stdin: true, format: common }',
    '{ kafka: { brokers: ["a:1"], topics: [t] }, format: logfmt }',
    '{ nats: { servers: ["nats://a:1"], stream: S }, format: text }',
    '{ s3: { bucket: b }, format: combined }',
  ])
    t.equal(issues(source), '')
})

t.test('pipelines have batches of one record and one second', async (t) => {
  const text = (to: string, more = '') => `source: stdin\ndataset: any\ndestination_conf: '${to}'\n${more}`
  const settings = (given: string) => readPipelines(given, '/p.yaml', checks, {})[0]!.outputs[0]!.job.settings
  t.match(settings(text('file:out', 'max_upload_records: 1\nmax_upload_interval_seconds: 1')), {
    max_upload_records: 1,
    max_upload_interval_seconds: 1,
  })
  t.equal(settings(text('stdout:')).max_upload_interval_seconds, 1)
  t.equal(settings(text('stdout:', 'max_upload_interval_seconds: 30')).max_upload_interval_seconds, 30)
  t.equal(settings(text('file:out')).max_upload_interval_seconds, undefined)
})
