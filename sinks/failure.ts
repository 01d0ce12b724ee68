import { messageOf } from '../src/core/errors.js'
import { SinkError, type SinkFailure } from '../src/core/sink.js'
import { NotPublic } from '../src/egress/egress.js'

/** What a status means for a delivery that it did not accept. */
export function failureOf(status: number): SinkFailure {
  if (status === 413) return 'too_large'
  return status >= 500 || status === 408 || status === 425 || status === 429 ? 'transient' : 'refused'
}

/**
 * The failure of a delivery whose connection failed: which host, and the code of the error at most. The error itself is
 * not kept: those of libraries know what was sent.
 */
export function unreachable(host: string, error: unknown): SinkError {
  if (error instanceof SinkError) return error
  if (error instanceof NotPublic) return new SinkError('refused', error.message)
  // Where the guard's error came through a library, that has wrapped it.
  if (error instanceof Error && error.cause instanceof NotPublic) return new SinkError('refused', error.cause.message)
  return new SinkError('transient', `${host} could not be reached: ${reasonOf(error)}`)
}

/** Returns the code of an error, or its type; never its text, which may contain what was sent. */
export function reasonOf(error: unknown): string {
  const { code, name } = (typeof error === 'object' && error !== null ? error : {}) as {
    code?: unknown
    name?: unknown
  }
  const text = typeof code === 'string' ? code : typeof name === 'string' ? name : messageOf(error)
  return /^[\w.-]{1,64}$/.test(text) ? text : 'unknown error'
}
