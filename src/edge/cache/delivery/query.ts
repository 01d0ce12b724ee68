import { createHash } from 'node:crypto'
import { headerOf, type RawHeaders } from '../../../http/headers.js'

/** Longer content of QUERY requests is not read for the key. */
export const MAX_QUERY_CONTENT = 65_536

/** The content of a QUERY request. */
export interface QueryContent {
  readonly bytes: Buffer
  /** The part of the key that names the content and what its meaning depends on. */
  readonly key: string
}

/** Whether a QUERY request says what its content is, which every such request must (RFC 10008, 2). */
export const isDescribed = (headers: RawHeaders): boolean => headerOf(headers, 'content-type') !== undefined

/**
 * Returns the content with its part of the key (RFC 10008, 2.7): a hash of the bytes, and all fields about content but its
 * length. JSON is used so that no value can imitate another field.
 */
export function queryContent(bytes: Buffer, headers: RawHeaders): QueryContent {
  const described: [string, string][] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    // Some origins read a name with underscores as the one with hyphens.
    const name = headers[i]!.toLowerCase()
    if (/^content[-_]/.test(name) && name !== 'content-length') described.push([name, headers[i + 1]!])
  }
  const hash = createHash('sha256').update(bytes).digest('base64')
  return { bytes, key: JSON.stringify([hash, bytes.length, ...described]) }
}
