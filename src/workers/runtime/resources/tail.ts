import type { Clock } from '../../../core/clock.js'
import type { Scope } from '../../../core/scope.js'
import type { TraceEvent } from '../trace-record.js'
import type { ResourceHandler } from '../resource-server.js'

const MAX_BODY_BYTES = 4 * 1024 * 1024
/** Values of these request fields are not shown. */
const REDACTED = /^(?:authorization|cookie|set-cookie|proxy-authorization)$|key|secret|token/i

interface TailBody {
  readonly source: { readonly script: string; readonly version: string }
  readonly events: readonly Readonly<Record<string, unknown>>[]
}

/** Receives trace events of scripts, and passes each on without secrets of the request. */
export function tailResource(
  clock: Pick<Clock, 'now'>,
  send: (scope: Scope, script: string, event: TraceEvent) => void,
): ResourceHandler {
  return async (call) => {
    const { source, events } = JSON.parse((await call.body(MAX_BODY_BYTES)).toString('utf8')) as TailBody
    for (const event of events)
      send(call.scope, source.script, {
        ...event,
        wallTime: wallTime(event['eventTimestamp'], clock.now()),
        scriptName: source.script,
        scriptVersion: { id: source.version },
        event: redacted(event['event']),
      })
    return { status: 204 }
  }
}

/**
 * Milliseconds from the start of a call until its trace event arrived, `waitUntil` included: the runtime itself reports
 * no times.
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
