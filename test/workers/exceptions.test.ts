import { Writable } from 'node:stream'
import { pino } from 'pino'
import t from 'tap'
import { ExceptionLog } from '../../src/workers/observability/exceptions.js'
import { HandClock } from '../helpers/hand-clock.js'

const LINE = 'workerd/server/server/listen/mod.rs:372: error: '
const printed = (text: string) => `${LINE}Uncaught exception: workerd/jsg/value.h:1456: failed: remote.jsg.${text}\n`

function written(scripts: readonly string[] = ['app'], observed: readonly string[] = []) {
  const lines: object[] = []
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as object)
      done()
    },
  })
  const clock = new HandClock()
  const log = pino({ base: null, timestamp: false, formatters: { level: (label) => ({ level: label }) } }, sink)
  const exceptions = new ExceptionLog({ log, clock, accountId: 'a1', isObserved: (name) => observed.includes(name) })
  return { lines, clock, process: exceptions.ofProcess(new Set(scripts)) }
}

t.test('the text of the runtime and the request that it ended become one line, whichever comes first', (t) => {
  const { lines, process } = written(['app', 'other'])
  process.read(printed('TypeError: boom').slice(0, 30))
  process.read(printed('TypeError: boom').slice(30))
  process.ended({ script: 'app', rayId: '1'.repeat(16) })
  process.ended({ script: 'other', rayId: '2'.repeat(16) })
  process.read(`${LINE}something else\n${printed('Error: MyError: two\nlines')}`)
  const from = { level: 'error', event: 'worker_exception', account: 'a1' }
  t.same(lines, [
    { ...from, script: 'app', ray: '1'.repeat(16), name: 'TypeError', message: 'TypeError: boom' },
    { ...from, script: 'other', ray: '2'.repeat(16), name: 'Error', message: 'Error: MyError: two\nlines' },
  ])
  t.end()
})

t.test('a part alone is written after a second', async (t) => {
  const { lines, clock, process } = written()
  process.read(printed('Error: in a queue'))
  await clock.advance(999)
  t.same(lines, [])
  await clock.advance(1)
  t.match(lines, [{ script: 'app', message: 'Error: in a queue' }])
  process.ended({ script: 'app', rayId: '3'.repeat(16) })
  await clock.advance(1000)
  t.match(lines[1], { script: 'app', ray: '3'.repeat(16), message: undefined })
})

t.test('exceptions of observed scripts are logged with their calls, not here', (t) => {
  const { lines, process } = written(['app', 'seen'], ['seen'])
  for (const script of ['seen', 'app']) {
    process.read(printed('Error: x'))
    process.ended({ script, rayId: script })
  }
  t.match(lines, [{ script: 'app' }])
  t.equal(lines.length, 1)
  t.end()
})

t.test('an account has 60 lines in a minute, and the rest is counted', async (t) => {
  const { lines, clock, process } = written()
  const throwing = (count: number) => {
    for (let n = 0; n < count; n += 1) {
      process.read(printed(`Error: ${'x'.repeat(5000)}`))
      process.ended({ script: 'app', rayId: String(n) })
    }
  }
  throwing(100)
  t.equal(lines.length, 60)
  t.ok(JSON.stringify(lines[0]).length < 2300, 'messages are cut')
  await clock.advance(60_000)
  throwing(1)
  t.match(lines.slice(60), [{ event: 'worker_exceptions_dropped', lines: 40 }, { ray: '0' }])
})

t.test('parts without a partner are bounded', (t) => {
  const { lines, process } = written()
  for (let n = 0; n < 1000; n += 1) process.read(printed('Error: x'))
  t.equal(lines.length, 60, '900 left the list, 60 of them are written')
  process.read('x'.repeat(200_000))
  process.read(`\n${printed('Error: y')}`)
  t.end()
})
