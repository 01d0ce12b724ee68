import type { Scope } from '../../../core/scope.js'
import type { TraceEvent } from '../../observability/trace-record.js'
import type { ResourceHandler } from '../resource-server.js'

const MAX_BODY_BYTES = 8 * 1024 * 1024
/** Values of these request fields are not shown. */
const REDACTED = /^(?:authorization|cookie|set-cookie|proxy-authorization)$|key|secret|token/i

interface TailBody {
  /** Number of events that the process could not keep. */
  readonly lost: number
  readonly calls: readonly {
    readonly source: { readonly script: string; readonly version: string }
    /** When the events arrived, in milliseconds since 1970. */
    readonly at: number
    readonly events: readonly Readonly<Record<string, unknown>>[]
  }[]
}

/** Receivers of trace events. */
export interface TailReceivers {
  send(scope: Scope, script: string, event: TraceEvent): void
  /** Called with the number of events of an account that were dropped. */
  lost(scope: Scope, count: number): void
}

/** Receives trace events of scripts, and passes each on without secrets of the request. */
export function tailResource(receivers: TailReceivers): ResourceHandler {
  return async (call) => {
    const { scope } = call
    const { lost, calls } = JSON.parse((await call.body(MAX_BODY_BYTES)).toString('utf8')) as TailBody
    if (lost > 0) receivers.lost(scope, lost)
    for (const { source, at, events } of calls)
      for (const event of events)
        receivers.send(scope, source.script, {
          ...event,
          wallTime: wallTime(event['eventTimestamp'], at),
          scriptName: source.script,
          scriptVersion: { id: source.version },
          event: redacted(event['event']),
        })
    return { status: 204 }
  }
}

/**
 * Milliseconds from the start of a call until its trace event arrived, `waitUntil` included. The runtime reports no
 * times.
 */
const wallTime = (startedAt: unknown, now: number): number =>
  typeof startedAt === 'number' ? Math.max(0, Math.round(now - startedAt)) : 0

function redacted(event: unknown): unknown {
  const { request } = (event ?? {}) as { request?: { headers?: Record<string, string> } }
  if (!request?.headers) return event
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, REDACTED.test(name) ? 'REDACTED' : value]),
  )
  return { ...(event as object), request: { ...request, headers } }
}
