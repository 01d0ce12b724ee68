import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, copyFileSync, mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { RunStats } from '../../pipelines/sources/intake/run-stats.js'
import { readPipelines } from '../../src/config/pipeline-file.js'
import { systemClock as clock } from '../../src/core/clock.js'
import { silentLog as log } from '../../src/core/log.js'
import { destinationChecks } from '../../src/daemon/pipelines/destinations.js'
import { runPipeline } from '../../src/daemon/pipelines/run.js'
import { programArgs } from '../helpers/program.js'
import { testFolder } from '../helpers/folder.js'
import { receiver } from '../helpers/record-receiver.js'
import { until } from '../helpers/web.js'

const CHILD = programArgs(new URL('../helpers/run-child.ts', import.meta.url))

const ids = (prefix: string, count: number, from = 0) => Array.from({ length: count }, (_, n) => `${prefix}${from + n}`)
const lines = (names: readonly string[]) => names.map((id) => `${JSON.stringify({ RayID: id })}\n`).join('')

const document = (source: string, url: string) => `source: ${source}
dataset: http_requests
output_options: { output_type: csv, field_names: [RayID] }
max_upload_records: 1000
max_upload_interval_seconds: 30
destination_conf: ${url}
`

/** Runs a pipeline in this process. Batches end when the run is stopped. */
function started(folder: string, source: string, url: string, { resume = false, state = join(folder, 'state') } = {}) {
  const checks = destinationChecks({ clock, log })
  const [pipeline] = readPipelines(document(source, url), join(folder, 'p.yaml'), checks, {})
  const messages: string[] = []
  const tally = new RunStats((place, message) => messages.push(`${place}: ${message}`))
  const stop = new AbortController()
  const alive = setInterval(() => {}, 2 ** 30)
  const tell = (message: string) => void messages.push(message)
  const run = runPipeline(pipeline!, { state, resume, stats: tally, tell, size() {}, stop: stop.signal, clock, log })
  const ended = run.finally(() => clearInterval(alive))
  ended.catch(() => undefined)
  const read = async (count: number) => {
    while (tally.read < count) await setTimeout(20)
  }
  return { tally, messages, ended, stop: () => stop.abort(), read }
}

t.test('every file of a glob is followed, new ones too, each record once', async (t) => {
  const folder = testFolder(t, { 'a.log': lines(ids('a', 3)), 'b.log': lines(ids('b', 3)) })
  const sink = await receiver(t)
  const { tally, stop, read, ended } = started(folder, "{ file: { paths: ['*.log'], follow: true } }", sink.url)
  await read(6)
  appendFileSync(join(folder, 'a.log'), lines(ids('a', 2, 3)))
  writeFileSync(join(folder, 'c.log'), lines(ids('c', 4)))
  await read(12)
  stop()
  t.same(await ended, { end: 'done' })
  t.equal(sink.arrived.size, 12)
  t.strictSame(sink.repeated(), [])
  t.match(tally, { read: 12, delivered: 12, losses: 0 })
})

t.test(
  'files that were rotated while the destination failed are read, also those of names that nobody saw',
  async (t) => {
    const folder = testFolder(t, { log: lines(ids('a', 1500)) })
    const path = join(folder, 'log')
    const sink = await receiver(t)
    sink.state.isDown = true
    const { tally, stop, ended } = started(folder, '{ file: log, follow: true }', sink.url)
    while (sink.state.failures === 0) await setTimeout(20)
    renameSync(path, join(folder, 'log.1'))
    // Within one look: nobody sees this one under its first name.
    writeFileSync(path, lines(ids('b', 500)))
    renameSync(path, join(folder, 'log.2'))
    writeFileSync(path, lines(ids('c', 500)))
    await setTimeout(1000)
    rmSync(join(folder, 'log.1'))
    renameSync(path, join(folder, 'log.3'))
    writeFileSync(path, lines(ids('d', 500)))
    sink.state.isDown = false
    while (tally.delivered < 2000) await setTimeout(20)
    stop()
    t.same(await ended, { end: 'done' })
    t.equal(sink.arrived.size, 3000)
    t.strictSame(sink.repeated(), [])
    t.match(tally, { delivered: 3000, losses: 0 })
  },
)

t.test('the beginning of a file shows whether it was truncated or grew', async (t) => {
  await t.test('the rest of a copied file is read from its copy', async (t) => {
    const folder = testFolder(t, { log: lines(ids('a', 1000)) })
    const path = join(folder, 'log')
    const sink = await receiver(t)
    sink.state.isDown = true
    const { tally, stop, ended } = started(folder, '{ file: log, follow: true }', sink.url)
    while (sink.state.failures === 0) await setTimeout(20)
    appendFileSync(path, lines(ids('b', 1000)))
    // copytruncate of logrotate; the file is larger than before at once.
    copyFileSync(path, join(folder, 'log.1'))
    truncateSync(path)
    appendFileSync(path, lines(ids('c', 3000)))
    sink.state.isDown = false
    while (tally.delivered < 2000) await setTimeout(20)
    stop()
    t.same(await ended, { end: 'done' })
    t.equal(sink.arrived.size, 5000)
    t.strictSame(sink.repeated(), [])
    t.equal(tally.losses, 0)
  })

  await t.test('without a copy the loss is reported and counted', async (t) => {
    const folder = testFolder(t, { log: lines(ids('a', 10)) })
    const path = join(folder, 'log')
    const sink = await receiver(t)
    const { tally, messages, stop, read, ended } = started(folder, '{ file: log, follow: true }', sink.url)
    await read(10)
    writeFileSync(path, lines(ids('b', 20)))
    await read(30)
    stop()
    t.same(await ended, { end: 'done' })
    t.equal(sink.arrived.size, 30)
    t.equal(tally.losses, 1)
    t.match(messages, [/log was truncated; records .* may be lost$/])
  })
})

t.test('a second run on one state is rejected', async (t) => {
  const folder = testFolder(t, { log: lines(ids('a', 3)) })
  const sink = await receiver(t)
  const first = started(folder, '{ file: log, follow: true }', sink.url)
  await first.read(3)
  await t.rejects(started(folder, '{ file: log, follow: true }', sink.url).ended, {
    message: /is in use by another run \(process \d+\)/,
  })
  first.stop()
  t.same(await first.ended, { end: 'done' })
  const lock = join(folder, 'state', 'p', 'lock')
  // A process that does not exist any more, as after kill -9.
  writeFileSync(lock, '999999999 1 lock.a')
  const second = started(folder, '{ file: log, follow: true }', sink.url, { resume: true })
  await setTimeout(300)
  second.stop()
  t.same(await second.ended, { end: 'done' })
  t.strictSame(sink.repeated(), [])
})

t.test('--resume after a finished run sends only what was added', async (t) => {
  const folder = testFolder(t, { 'a.log': lines(ids('a', 5)), 'b.log': lines(ids('b', 5)) })
  const sink = await receiver(t)
  const source = "{ file: '*.log' }"
  const run = async (resume: boolean) => {
    const one = started(folder, source, sink.url, { resume })
    t.same(await one.ended, { end: 'done' })
    return one
  }
  await run(false)
  const nothing = await run(true)
  t.match(nothing.tally, { read: 0, delivered: 0 })
  appendFileSync(join(folder, 'a.log'), lines(ids('a', 2, 5)))
  writeFileSync(join(folder, 'c.log'), lines(ids('c', 2)))
  t.match((await run(true)).tally, { delivered: 4 })
  renameSync(join(folder, 'a.log'), join(folder, 'a.old.log'))
  writeFileSync(join(folder, 'a.log'), lines(ids('n', 1)))
  t.match((await run(true)).tally, { delivered: 1 })
  t.equal(sink.arrived.size, 15)
  t.strictSame(sink.repeated(), [])
  const again = await run(false)
  t.match(again.messages, [/starting over; .* which delivered all of its 15 records; --resume continues that run$/])
})

t.test('kill -9 under rotation: nothing is lost, and only batches in flight come again, byte for byte', async (t) => {
  const folder = testFolder(t, { logs: {} })
  const logs = join(folder, 'logs')
  const sink = await receiver(t)
  const file = join(folder, 'p.yaml')
  writeFileSync(file, document("{ file: { paths: ['logs/app.log', 'logs/other*.log'], follow: true } }", sink.url))
  mkdirSync(join(folder, 'state'))
  const names: string[] = []
  let n = 0
  const write = (name: string, count: number) => {
    const more = ids(`${name}-`, count, n)
    n += count
    names.push(...more)
    appendFileSync(join(logs, name), lines(more))
  }
  let rotations = 0
  for (let kill = 0; kill < 3; kill++) {
    const child = spawn(process.execPath, [...CHILD, file, join(folder, 'state')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (text: Buffer) => (output += text.toString()))
    const exit = once(child, 'exit')
    const before = sink.arrived.size
    const isLast = kill === 2
    for (let round = 0; sink.arrived.size <= before; round++) {
      write('app.log', 210)
      write(`other${kill}.log`, 90)
      sink.state.isDown = !isLast && round % 4 === 3
      if (kill > 0 && round % 3 === 1) renameSync(join(logs, 'app.log'), join(logs, `app.log.${++rotations}`))
      await setTimeout(100)
    }
    // Requests of the killed run may arrive only now: the last run ends when it has delivered the rest.
    if (isLast) await until(() => names.every((id) => sink.arrived.has(`"${id}"`)))
    child.kill(isLast ? 'SIGTERM' : 'SIGKILL')
    const [code] = (await exit) as [number | null]
    if (isLast) {
      t.equal(code, 0)
      t.match(output, /losses=0/)
    }
  }
  t.strictSame(
    names.filter((id) => !sink.arrived.has(`"${id}"`)),
    [],
    'nothing is lost',
  )
  t.strictSame(sink.repeated(), [])
})
