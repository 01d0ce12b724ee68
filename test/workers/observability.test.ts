import { Writable } from 'node:stream'
import { pino } from 'pino'
import t from 'tap'
import { account } from '../../src/core/scope.js'
import { isObserved, observe } from '../../src/workers/observability/observability.js'
import { newScript } from '../../src/workers/script-repository.js'

const TRACE = {
  outcome: 'exception',
  wallTime: 12,
  scriptVersion: { id: 'v1' },
  event: {
    request: { url: 'http://x/y?secret=1', method: 'GET', headers: { 'cf-ray': '0123456789abcdef' } },
    response: { status: 500 },
  },
  logs: [
    { level: 'log', message: ['a', { b: 1 }] },
    { level: 'warn', message: ['careful\n{"event":"forged"}'] },
  ],
  exceptions: [{ name: 'Error', message: 'boom', stack: 'at x' }],
}

function written(observability: Record<string, unknown> | undefined, trace: object = TRACE, random = 0.5): object[] {
  const lines: string[] = []
  const log = pino(
    { base: null, timestamp: false, formatters: { level: (label) => ({ level: label }) } },
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(chunk.toString())
        done()
      },
    }),
  )
  const script = { ...newScript('app', ''), ...(observability && { observability }) }
  observe(log, { scope: account('a1'), script, random: () => random }, trace)
  return lines.map((line) => JSON.parse(line) as object)
}

t.test('a call is written with its logs and exceptions', (t) => {
  const from = { account: 'a1', script: 'app', version: 'v1' }
  t.match(written({ enabled: true }), [
    {
      level: 'info',
      event: 'worker_call',
      ...from,
      method: 'GET',
      url: 'http://x/y?secret=1',
      ray_id: '0123456789abcdef',
      status: 500,
      outcome: 'exception',
      wall_ms: 12,
    },
    { level: 'info', event: 'worker_log', ...from, message: 'a {"b":1}' },
    { level: 'warn', event: 'worker_log', message: 'careful\n{"event":"forged"}' },
    { level: 'error', event: 'worker_exception', message: 'Error: boom', stack: 'at x' },
  ])
  t.end()
})

t.test('what the settings exclude is not written', (t) => {
  for (const settings of [
    undefined,
    { enabled: false },
    { enabled: true, logs: { enabled: false, invocation_logs: true } },
    { enabled: true, logs: { enabled: true, invocation_logs: true, persist: false } },
    { enabled: true, head_sampling_rate: 0.5 },
    { enabled: true, head_sampling_rate: 0.9, logs: { enabled: true, invocation_logs: true, head_sampling_rate: 0.5 } },
  ])
    t.same(written(settings), [], JSON.stringify(settings))
  t.match(written({ enabled: true, head_sampling_rate: 0.6 }), { length: 4 })
  const quiet = { enabled: true, logs: { enabled: true, invocation_logs: false } }
  t.match(written(quiet), [{ event: 'worker_log' }, { event: 'worker_log' }, { event: 'worker_exception' }])
  t.match(written({ enabled: true, redact_query_string: true }), [{ url: 'http://x/y' }, {}, {}, {}])
  t.match(written({ enabled: true }, { outcome: 'ok', event: { cron: '* * * * *' } }), [
    { trigger: '{"cron":"* * * * *"}' },
  ])
  t.notOk(isObserved({}))
  t.end()
})

t.test('one call writes a limited number of lines', (t) => {
  const logs = Array.from({ length: 500 }, () => ({ level: 'log', message: ['x'.repeat(10_000)] }))
  const lines = written({ enabled: true }, { ...TRACE, logs, exceptions: [] })
  t.equal(lines.length, 52)
  t.match(lines.at(-1), { event: 'worker_log_cut', lines: 450 })
  t.ok(JSON.stringify(lines[1]).length < 2300)
  t.end()
})
