import t from 'tap'
import { traceRecord } from '../../src/workers/observability/trace-record.js'
import { newScript } from '../../src/workers/script-repository.js'
import { workersTraceEvents } from '../../pipelines/records/datasets/workers-trace-events.js'

const script = { ...newScript('app', ''), tags: ['a'] }

const EVENTS: readonly (readonly [type: string, event: object, shown: object])[] = [
  [
    'fetch',
    {
      request: { url: 'http://x/y', method: 'GET', headers: { 'cf-ray': '0123456789abcdef' } },
      response: { status: 201 },
    },
    { RayID: '0123456789abcdef', Request: { URL: 'http://x/y', Method: 'GET' }, Response: { Status: 201 } },
  ],
  ['queue', { queue: 'jobs', batchSize: 3 }, { Queue: 'jobs', BatchSize: 3 }],
  ['scheduled', { cron: '* * * * *', scheduledTime: 5 }, { Cron: '* * * * *', ScheduledTimeMs: 5 }],
  ['alarm', { scheduledTime: 5 }, { ScheduledTimeMs: 5 }],
  ['unknown', {}, {}],
]
for (const [type, event, shown] of EVENTS)
  t.test(`a trace of the type ${type} becomes a record of log push`, async (t) => {
    const record = traceRecord(
      {
        event,
        outcome: 'exception',
        eventTimestamp: 7,
        scriptVersion: { id: 'v' },
        logs: [{ level: 'log', message: ['a', 1], timestamp: 8 }],
        exceptions: [{ name: 'Error', message: 'boom', stack: 'at x', timestamp: 9 }],
      },
      script,
    )
    t.match(record, {
      EventType: type,
      Event: shown,
      EventTimestampMs: 7,
      Outcome: 'exception',
      ScriptName: 'app',
      ScriptTags: ['a'],
      ScriptVersion: { ID: 'v' },
      Logs: [{ Level: 'log', Message: ['a', 1], TimestampMs: 8 }],
      Exceptions: [{ Name: 'Error', Message: 'boom', Stack: 'at x', TimestampMs: 9 }],
    })
    for (const name of Object.keys(record)) t.ok(name in workersTraceEvents.fields, name)
  })
