import type { IncomingMessage } from 'node:http'
import { ApiError, type ErrorKind } from './errors.js'

/**
 * Throws `refusal` if If-Match or If-None-Match does not hold for the current ETag (RFC 9110, 13.1). `etag` is undefined
 * if the resource does not exist yet.
 */
export function checkConditions(
  { headers }: Pick<IncomingMessage, 'headers'>,
  etag: string | undefined,
  refusal: ErrorKind,
): void {
  const named = (header: string): boolean => etag !== undefined && names(header, etag)
  const { 'if-match': wanted, 'if-none-match': unwanted } = headers
  if (wanted !== undefined && !named(wanted)) throw new ApiError(refusal)
  if (unwanted !== undefined && named(unwanted))
    throw new ApiError(refusal, undefined, 'If-None-Match names the current ETag')
}

/** Returns whether a list of entity tags names this one. */
function names(header: string, etag: string): boolean {
  const tags = header.split(',').map((tag) => tag.trim().replace(/^(?:W\/)?"(.*)"$/, '$1'))
  return tags.includes('*') || tags.includes(etag)
}
