import { SinkError, type SinkFailure } from '../../src/core/sink.js'
import { failureOf, unreachable } from '../failure.js'

/** Codes that say something else than the status that they come with. */
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

/** What the SDK threw, as a failed delivery to `place`; with the code of the answer, never with its text. */
export function s3Failure(place: string, error: unknown): SinkError {
  if (error instanceof SinkError) return error
  const { name = '', $metadata, $response } = (error instanceof Error ? error : {}) as SdkError
  if (/^(CredentialsProvider|TokenProvider|ProviderError)/.test(name))
    return new SinkError('refused', `${place}: the daemon has no credentials for it`, { cause: error })

  const status = $metadata?.httpStatusCode ?? $response?.statusCode
  if (status === undefined) return unreachable(place, error)
  // A failure inside of an answer that began as a success, or that was cut short.
  if (status < 300)
    return new SinkError('transient', `${place} gave an answer that does not end well`, { cause: error })

  const code = /^[A-Za-z0-9.]{1,64}$/.test(name) && name !== 'Error' ? ` ${name}` : ''
  const failure = Object.hasOwn(CODES, name) ? CODES[name] : undefined
  const wait = retryAfter($response?.headers?.['retry-after'])
  return new SinkError(failure ?? failureOf(status), `${place} answered ${status}${code}`, {
    cause: error,
    ...(wait !== undefined && { retryAfterMs: wait }),
  })
}

/** What errors of the SDK have on them. */
interface SdkError {
  readonly name?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
  readonly $response?: { readonly statusCode?: number; readonly headers?: Readonly<Record<string, string>> }
}

function retryAfter(value: string | undefined): number | undefined {
  return value !== undefined && /^\d{1,6}$/.test(value) ? Number(value) * 1000 : undefined
}
