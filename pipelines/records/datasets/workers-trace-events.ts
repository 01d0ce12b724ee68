import { dataset } from '../fields/dataset.js'

// The time is a plain number of milliseconds here, independent of `timestamp_format`.
export const workersTraceEvents = dataset({
  name: 'workers_trace_events',
  scopes: ['account'],
  clock: 'EventTimestampMs',
  fields: {
    CPUTimeMs: 'int',
    DispatchNamespace: 'string',
    Entrypoint: 'string',
    Event: 'object',
    EventTimestampMs: 'int',
    EventType: 'string',
    Exceptions: 'array[object]',
    Logs: 'array[object]',
    Outcome: 'string',
    ScriptName: 'string',
    ScriptTags: 'array[string]',
    ScriptVersion: 'object',
    WallTimeMs: 'int',
  },
})
