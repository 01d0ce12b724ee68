import { machineFault, messageOf } from '../../core/errors.js'
import {
  InvalidResponse,
  ConnectionLost,
  NoOrigin,
  Overloaded,
  TargetDenied,
  TooSlow,
  WaitedTooLong,
} from '../../http/origin-errors.js'
import { NotRunnable, WorkerError, type WorkerErrorName } from './worker-sites.js'

/** Cause of an origin failure. A closed list, since it labels a metric. */
export const ORIGIN_FAILURES = [
  'connect_timeout',
  'headers_timeout',
  'body_timeout',
  'refused',
  'name',
  'tls',
  'reset',
  'bad_answer',
  'overloaded',
  'not_runnable',
  'not_allowed',
  'no_origin',
  'worker',
  'other',
] as const
export type OriginFailureKind = (typeof ORIGIN_FAILURES)[number]

/** The client's view of an origin failure. */
export interface OriginFailure {
  readonly kind: OriginFailureKind
  readonly status: 404 | 500 | 501 | 502 | 503 | 504 | 508
  /** For the log only, because it contains internal names. */
  readonly reason: string
  readonly retryAfter?: number
  /** Shown to the client in addition to the status. */
  readonly detail?: string
  /** Advice to the owner of the website. Shown to the client instead of the advice of the status. */
  readonly ownerAdvice?: string
  /** The error of a Worker that the error page explains. */
  readonly workerError?: WorkerErrorName
}

const RETRY_AFTER_SECONDS = 5

const KINDS: Readonly<Record<string, OriginFailureKind>> = {
  ETIMEDOUT: 'connect_timeout',
  ECONNREFUSED: 'refused',
  // Unix sockets: not there, not permitted, its queue is full.
  ENOENT: 'refused',
  EACCES: 'refused',
  EAGAIN: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ENOTFOUND: 'name',
  EAI_AGAIN: 'name',
}

/** Classifies an origin failure. */
export function originFailure(error: unknown): OriginFailure {
  const reason = messageOf(error)
  if (error instanceof Overloaded || error instanceof WaitedTooLong)
    return { kind: 'overloaded', status: 503, reason, retryAfter: RETRY_AFTER_SECONDS }
  if (error instanceof WorkerError) return { kind: 'worker', status: error.status, reason, workerError: error.kind }
  if (error instanceof NotRunnable)
    return {
      kind: 'not_runnable',
      status: 501,
      reason,
      detail: error.explanation.detail,
      ownerAdvice: error.explanation.advice,
    }
  if (error instanceof NoOrigin)
    return { kind: 'no_origin', status: 502, reason, detail: 'This website has no origin server yet.' }
  const fault = machineFault(error)
  if (fault !== undefined)
    return { kind: 'overloaded', status: 503, reason: `${reason}: ${fault}`, retryAfter: RETRY_AFTER_SECONDS }
  const kind = kindOf(error)
  const detail = codeOf(error) === 'ECONNREFUSED' ? REFUSED : DETAILS[kind]
  return { kind, status: kind.endsWith('_timeout') ? 504 : 502, reason, ...(detail !== undefined && { detail }) }
}

const REFUSED = 'The origin server refused the connection.'

/** Explanations of the failure for clients. Other failures have the text of their status. */
const DETAILS: Partial<Record<OriginFailureKind, string>> = {
  connect_timeout: 'The origin server did not accept the connection in time.',
  refused: 'The origin server cannot be reached.',
  reset: 'The origin server closed the connection before its response was complete.',
  name: 'The address of the origin server could not be found.',
  tls: 'A secure connection to the origin server could not be established.',
  not_allowed: 'The address of the origin server is not allowed here.',
}

function kindOf(error: unknown): OriginFailureKind {
  if (error instanceof InvalidResponse) return 'bad_answer'
  if (error instanceof TooSlow) return error.kind
  if (error instanceof ConnectionLost) return 'reset'
  if (error instanceof TargetDenied) return 'not_allowed'
  const code = codeOf(error)
  if (code === undefined) return 'other'
  const known = KINDS[code]
  if (known) return known
  return /CERT|TLS|SSL|SIGNATURE/.test(code) ? 'tls' : 'other'
}

const codeOf = (error: unknown): string | undefined => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}
