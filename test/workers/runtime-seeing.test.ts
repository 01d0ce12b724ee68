import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ACCOUNT, SKIP, workersDaemon } from './runtime-helper.js'

/** Calls that a script makes to itself. */
const CALLS = 1100

const pipeline = (dataset: string): string => `
  - name: ${dataset}
    source: { account: ${ACCOUNT} }
    dataset: ${dataset}
    destination_conf: file:out/${dataset}`

t.test('calls and data points become records, and requests are counted by script', { skip: SKIP }, async (t) => {
  const more = `pipelines:${['workers_trace_events', 'workers_analytics_engine'].map(pipeline).join('')}`
  const daemon = await workersDaemon(t, { more, uploadSeconds: 0.2 })
  await daemon.upload(
    'app',
    `export default { async fetch(request, env, ctx) {
      if (request.url.endsWith('/throw')) throw new Error('boom')
      if (request.url.endsWith('/burst')) {
        for (let left = ${CALLS}; left > 0; left -= 50) await Promise.all(Array.from({ length: 50 }, () => env.SELF.fetch('http://self/')))
        return new Response('done')
      }
      env.POINTS.writeDataPoint({ indexes: ['customer'], blobs: ['é', 'two'], doubles: [1.5, -2] })
      ctx.waitUntil(scheduler.wait(60))
      console.log('hello', 1)
      return new Response('ok')
    } }`,
    {
      logpush: true,
      bindings: [
        { name: 'POINTS', type: 'analytics_engine', dataset: 'visits' },
        { name: 'SELF', type: 'service', service: 'app' },
      ],
    },
  )
  await daemon.domain('app')
  t.equal((await daemon.get('app.example.test', '/burst')).text, 'done')
  const read = async (dataset: string, count: number): Promise<Record<string, unknown>[]> => {
    for (;;) {
      const records = recordsOf(await daemon.files(`out/${dataset}`))
      if (records.length >= count) return records
      await sleep(50)
    }
  }
  const [point] = await read('workers_analytics_engine', CALLS)
  t.match(point, {
    Dataset: 'visits',
    ScriptName: 'app',
    Index1: 'customer',
    Blob1: 'é',
    Blob2: 'two',
    Blob3: '',
    Double1: 1.5,
    Double2: -2,
    SampleInterval: 1,
  })
  const calls = await read('workers_trace_events', CALLS + 1)
  t.equal(calls.length, CALLS + 1, 'every call has an event')
  const call = calls.find(({ Logs: logs }) => (logs as unknown[]).length > 0)
  t.match(call, {
    ScriptName: 'app',
    Outcome: 'ok',
    EventType: 'fetch',
    CPUTimeMs: 0,
    Logs: [{ Message: ['hello', 1] }],
  })
  t.ok(Number(call?.['WallTimeMs']) >= 60, 'the time includes waitUntil')

  t.equal((await daemon.get('app.example.test', '/throw')).status, 500)
  const metrics = async () => await (await fetch(`${daemon.daemon.admin}/metrics`)).text()
  // The end of a response is counted after the client has it.
  for (; !/outcome="exception"/.test(await metrics());) await sleep(20)
  const text = await metrics()
  t.match(text, `edged_worker_requests_total{script="app",outcome="ok",account="${ACCOUNT}"} 1`)
  t.match(text, `edged_worker_requests_total{script="app",outcome="exception",account="${ACCOUNT}"} 1`)
  t.match(text, `edged_worker_duration_seconds_count{script="app",account="${ACCOUNT}"} 2`)
})

const recordsOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
