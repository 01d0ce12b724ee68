import type { IncomingMessage } from 'node:http'
import { ApiError } from '../http/errors.js'

/** Host names are made of them, and a label has 63 characters at most. */
const SCRIPT_NAME = /^[a-z0-9_][a-z0-9-_]{0,62}$/

/** RFC 7396. */
export const MERGE_PATCH = ['application/merge-patch+json'] as const

/** The name of a script, as the path has it, or the body at `pointer`. Throws `badScriptName`. */
export function scriptName(name: string, pointer?: string): string {
  if (!SCRIPT_NAME.test(name)) throw new ApiError('badScriptName', pointer)
  return name
}

/** What sent a request, for `source` and `last_deployed_from`. */
export const clientOf = ({ headers }: IncomingMessage): string =>
  /^wrangler\//i.test(headers['user-agent'] ?? '') ? 'wrangler' : 'api'

/**
 * Throws `scriptChanged` if If-Match or If-None-Match does not hold for the current ETag (RFC 9110, 13.1). `etag` is
 * undefined if the script is new.
 */
export function checkConditions({ headers }: IncomingMessage, etag: string | undefined): void {
  const named = (header: string): boolean => etag !== undefined && names(header, etag)
  const { 'if-match': wanted, 'if-none-match': unwanted } = headers
  if (wanted !== undefined && !named(wanted)) throw new ApiError('scriptChanged')
  if (unwanted !== undefined && named(unwanted))
    throw new ApiError('scriptChanged', undefined, 'If-None-Match names the current ETag of the script')
}

/** Returns whether a list of entity tags names this one. */
function names(header: string, etag: string): boolean {
  const tags = header.split(',').map((tag) => tag.trim().replace(/^(?:W\/)?"(.*)"$/, '$1'))
  return tags.includes('*') || tags.includes(etag)
}
