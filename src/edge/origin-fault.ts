import { messageOf } from '../core/errors.js'
import { ORIGIN_RESET, Overloaded, WaitedTooLong } from '../net/origin.js'
import { BadAnswer } from './answer-fields.js'

/** How an origin failed. A closed list, since it labels a metric. */
export const ORIGIN_FAULTS = [
  'connect_timeout',
  'headers_timeout',
  'body_timeout',
  'refused',
  'name',
  'tls',
  'reset',
  'bad_answer',
  'overloaded',
  'other',
] as const
export type OriginFaultKind = (typeof ORIGIN_FAULTS)[number]

/** What a failure of the origin means for the client. */
export interface OriginFault {
  readonly kind: OriginFaultKind
  readonly status: 502 | 503 | 504
  /** For the log only: it names what is inside. */
  readonly reason: string
  readonly retryAfter?: number
}

const RETRY_AFTER_SECONDS = 5

const KINDS: Readonly<Record<string, OriginFaultKind>> = {
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  ETIMEDOUT: 'connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'headers_timeout',
  UND_ERR_BODY_TIMEOUT: 'body_timeout',
  UND_ERR_SOCKET: 'reset',
  UND_ERR_HEADERS_OVERFLOW: 'bad_answer',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'bad_answer',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  [ORIGIN_RESET]: 'reset',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ENOTFOUND: 'name',
  EAI_AGAIN: 'name',
}

/** Sorts what went wrong with an origin. */
export function originFault(error: unknown): OriginFault {
  const reason = messageOf(error)
  if (error instanceof Overloaded || error instanceof WaitedTooLong)
    return { kind: 'overloaded', status: 503, reason, retryAfter: RETRY_AFTER_SECONDS }
  const kind = kindOf(error)
  return { kind, status: kind.endsWith('_timeout') ? 504 : 502, reason }
}

function kindOf(error: unknown): OriginFaultKind {
  if (error instanceof BadAnswer) return 'bad_answer'
  const code = codeOf(error)
  if (code === undefined) return 'other'
  const known = KINDS[code]
  if (known) return known
  if (code.startsWith('HPE_')) return 'bad_answer'
  return /CERT|TLS|SSL|SIGNATURE/.test(code) ? 'tls' : 'other'
}

const codeOf = (error: unknown): string | undefined => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}

/**
 * Whether a request that was answered by this error met a connection that the origin was closing when the request was
 * sent: it had served before, and it broke before a byte of the answer came.
 */
export function wasStale(error: unknown): boolean {
  const code = codeOf(error)
  if (code === ORIGIN_RESET || code === 'EPIPE') return true
  const { socket } = error as { socket?: { bytesRead?: number } | null }
  return code === 'UND_ERR_SOCKET' && (socket?.bytesRead ?? 0) > 0
}
