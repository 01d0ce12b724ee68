import { dataset } from '../dataset.js'

// The time is a plain number of milliseconds here, whatever `timestamp_format` says.
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
