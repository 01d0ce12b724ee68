import { messageOf } from '../../src/core/errors.js'
import { SinkError, type SinkFailure } from '../../src/core/sink.js'
import { NotPublic } from '../../src/egress/egress.js'

/** Returns the type of failure for the status of a rejected delivery. */
export function failureOf(status: number): SinkFailure {
  if (status === 413) return 'too_large'
  return status >= 500 || status === 408 || status === 425 || status === 429 ? 'transient' : 'refused'
}

/**
 * Returns the failure of a delivery whose connection failed. It names the host and, if known, the error code. The error
 * itself is not kept because errors of libraries contain the data that was sent.
 */
export function unreachable(host: string, error: unknown): SinkError {
  if (error instanceof SinkError) return error
  if (error instanceof NotPublic) return new SinkError('refused', error.message)
  // A library may have wrapped the guard's error.
  if (error instanceof Error && error.cause instanceof NotPublic) return new SinkError('refused', error.cause.message)
  return new SinkError('transient', `${host} could not be reached: ${reasonOf(error)}`)
}

/** Returns the code of an error, or its type. It never returns the text, which may contain data that was sent. */
export function reasonOf(error: unknown): string {
  const { code, name } = (typeof error === 'object' && error !== null ? error : {}) as {
    code?: unknown
    name?: unknown
  }
  const text = typeof code === 'string' ? code : typeof name === 'string' ? name : messageOf(error)
  return /^[\w.-]{1,64}$/.test(text) ? text : 'unknown error'
}
