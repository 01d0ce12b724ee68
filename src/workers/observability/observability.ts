import type { Log } from '../../core/log.js'
import type { StoredScript } from '../../core/model/worker.js'
import type { Scope } from '../../core/scope.js'
import { exceptionFacts, shortened } from './exceptions.js'
import type { TraceEvent } from './trace-record.js'

/** Maximum lines of one call in the log. Further lines are counted. */
const MAX_LINES = 50
const LEVELS = { debug: 'debug', log: 'info', info: 'info', warn: 'warn', error: 'error' } as const

interface Settings {
  readonly enabled?: boolean
  readonly head_sampling_rate?: number | null
  readonly redact_query_string?: boolean
  readonly logs?: {
    readonly enabled?: boolean
    readonly invocation_logs?: boolean
    readonly head_sampling_rate?: number | null
    readonly persist?: boolean
  } | null
}

/** Returns whether calls of a script are written to the log of the daemon. */
export function isObserved({ observability }: Pick<StoredScript, 'observability'>): boolean {
  const { enabled, logs } = (observability ?? {}) as Settings
  return enabled === true && logs?.enabled !== false && logs?.persist !== false
}

/** Writes one call of a script to the log as configured in `observability`, with its logs and exceptions. */
export function observe(
  log: Log,
  { scope, script, random = Math.random }: { scope: Scope; script: StoredScript; random?: () => number },
  trace: TraceEvent,
): void {
  if (!isObserved(script)) return
  const { head_sampling_rate: rate, logs, redact_query_string: redact } = (script.observability ?? {}) as Settings
  if (random() >= (rate ?? 1) * (logs?.head_sampling_rate ?? 1)) return
  const from = { account: scope.id, script: script.name, version: trace.scriptVersion?.id }
  const { request, response, ...other } = (trace.event ?? {}) as {
    request?: { url?: string; method?: string; headers?: Record<string, string> }
    response?: { status?: number }
  }
  const rayId = request?.headers?.['cf-ray']
  if (logs?.invocation_logs !== false) {
    const url = redact ? request?.url?.replace(/\?.*/s, '') : request?.url
    const call = request
      ? { method: request.method, url: url && shortened(url), ray_id: rayId, status: response?.status }
      : { trigger: shortened(JSON.stringify(other)) }
    log.info({ event: 'worker_call', ...from, ...call, outcome: trace.outcome, wall_ms: trace.wallTime })
  }
  const lines = listOf(trace.logs)
  for (const { level, message } of lines.slice(0, MAX_LINES)) {
    const as = LEVELS[String(level) as keyof typeof LEVELS] ?? 'info'
    log[as]({ event: 'worker_log', ...from, message: shortened(textOf(message)) })
  }
  for (const { name, message, stack } of listOf(trace.exceptions).slice(0, MAX_LINES))
    log.error({
      event: 'worker_exception',
      ...from,
      ...(rayId !== undefined && { ray: rayId }),
      ...exceptionFacts({ name, message }),
      ...(typeof stack === 'string' && { stack: shortened(stack) }),
    })
  if (lines.length > MAX_LINES) log.warn({ event: 'worker_log_cut', ...from, lines: lines.length - MAX_LINES })
}

const textOf = (message: unknown): string =>
  Array.isArray(message)
    ? message.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join(' ')
    : String(message)

const listOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? (value as Readonly<Record<string, unknown>>[]) : []
