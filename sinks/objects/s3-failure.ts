import type { Clock } from '../../src/core/clock.js'
import { SinkError, type SinkFailure } from '../../src/core/sink.js'
import { NotPublic } from '../../src/egress/egress.js'
import { failureOf, unreachable } from '../contract/failure.js'
import { retryAfterMs } from '../http/retry-after.js'

/** Codes whose meaning differs from the meaning of their status. */
const CODES: Readonly<Record<string, SinkFailure>> = {
  BadDigest: 'transient',
  ConditionalRequestConflict: 'transient',
  EntityTooLarge: 'too_large',
  IncompleteBody: 'transient',
  InternalError: 'transient',
  OperationAborted: 'transient',
  RequestTimeout: 'transient',
  ServiceUnavailable: 'transient',
  SlowDown: 'transient',
  XAmzContentSHA256Mismatch: 'transient',
}

/**
 * Converts an error of the SDK to a failed delivery to `place`. It has the code of the response but never the text. The
 * error itself is not kept because it contains the whole request.
 */
export function s3Failure(place: string, error: unknown, clock: Pick<Clock, 'now'>): SinkError {
  if (error instanceof SinkError) return error
  const { name = '', code, $metadata, $response } = (error instanceof Error ? error : {}) as SdkError
  if (/^(CredentialsProvider|TokenProvider|ProviderError)/.test(name))
    return new SinkError('refused', `${place}: the daemon has no credentials for it`)

  const status = $metadata?.httpStatusCode ?? $response?.statusCode
  if (status === undefined) {
    if (error instanceof NotPublic) return unreachable(place, error)
    return unreachable(place, Object.assign(new Error(name), { name, code }))
  }
  // A failure inside of a response that began as a success, or that was cut short.
  if (status < 300) return new SinkError('transient', `${place} sent a success response that did not end correctly`)

  const shown = /^[A-Za-z0-9.]{1,64}$/.test(name) && name !== 'Error' ? ` ${name}` : ''
  const failure = Object.hasOwn(CODES, name) ? CODES[name] : undefined
  const wait = retryAfterMs($response?.headers?.['retry-after'], clock)
  const message = `${place} responded with ${status}${shown}`
  const response = { status, body: '' }
  return new SinkError(failure ?? failureOf(status), message, {
    response,
    ...(wait !== undefined && { retryAfterMs: wait }),
  })
}

/** Properties of SDK errors. */
interface SdkError {
  readonly name?: string
  readonly code?: unknown
  readonly $metadata?: { readonly httpStatusCode?: number }
  readonly $response?: { readonly statusCode?: number; readonly headers?: Readonly<Record<string, string>> }
}
