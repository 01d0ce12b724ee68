import type { LogRecord } from '../../core/emit.js'
import type { StoredScript } from '../../core/model/worker.js'

export const TRACE_DATASET = 'workers_trace_events'

/** A trace event of the runtime, without secrets of the request. */
export interface TraceEvent {
  readonly scriptName?: string
  readonly scriptVersion?: { readonly id: string }
  readonly outcome?: unknown
  readonly entrypoint?: unknown
  readonly eventTimestamp?: unknown
  readonly event?: unknown
  readonly logs?: unknown
  readonly exceptions?: unknown
  /** Milliseconds. */
  readonly wallTime?: number
}

interface Invocation {
  readonly request?: {
    readonly url?: string
    readonly method?: string
    readonly headers?: Readonly<Record<string, string>>
  }
  readonly response?: { readonly status?: number }
  readonly cron?: string
  readonly queue?: string
  readonly batchSize?: number
  readonly scheduledTime?: unknown
}

/** Returns the record of log push for one call of a script. The runtime does not report CPU time, so that is 0. */
export function traceRecord(trace: TraceEvent, script: StoredScript): LogRecord {
  const event = (trace.event ?? {}) as Invocation
  const { scriptVersion, outcome, entrypoint, eventTimestamp } = trace
  return {
    CPUTimeMs: 0,
    WallTimeMs: trace.wallTime ?? 0,
    DispatchNamespace: '',
    Entrypoint: typeof entrypoint === 'string' ? entrypoint : '',
    Event: eventOf(event),
    EventTimestampMs: Number(eventTimestamp ?? 0),
    EventType: typeOf(event),
    Exceptions: listOf(trace.exceptions).map(({ name, message, stack, timestamp }) => ({
      Name: name,
      Message: message,
      ...(stack !== undefined && { Stack: stack }),
      TimestampMs: timestamp,
    })),
    Logs: listOf(trace.logs).map(({ level, message, timestamp }) => ({
      Level: level,
      Message: message,
      TimestampMs: timestamp,
    })),
    Outcome: String(outcome),
    ScriptName: script.name,
    ScriptTags: script.tags,
    ScriptVersion: { ID: scriptVersion?.id ?? '' },
  }
}

function typeOf({ request, cron, queue, scheduledTime }: Invocation): string {
  if (request) return 'fetch'
  if (queue !== undefined) return 'queue'
  if (cron !== undefined) return 'scheduled'
  return scheduledTime === undefined ? 'unknown' : 'alarm'
}

function eventOf({ request, response, cron, queue, batchSize, scheduledTime }: Invocation): object {
  if (request) {
    const { url, method, headers = {} } = request
    const status = response && { Response: { Status: response.status } }
    return { RayID: headers['cf-ray'] ?? '', Request: { URL: url, Method: method }, ...status }
  }
  if (queue !== undefined) return { Queue: queue, BatchSize: batchSize }
  return { ...(cron !== undefined && { Cron: cron }), ScheduledTimeMs: scheduledTime }
}

const listOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? (value as Readonly<Record<string, unknown>>[]) : []
