import type { IncomingMessage } from 'node:http'
import { ApiError } from '../../http/errors.js'

/** Host names contain script names, and a label has at most 63 characters. */
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
