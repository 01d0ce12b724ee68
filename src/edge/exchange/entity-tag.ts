import { createHash } from 'node:crypto'
import { members } from '../../http/accept.js'
import { CONDITIONAL_FIELDS, headerValues, type RawHeaders } from '../../http/headers.js'

/** Returns a weak entity tag of content that edged creates. RFC 9110, 8.8.3. */
export const tagOf = (body: string | Uint8Array): string =>
  `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 16)}"`

/** Returns whether If-None-Match lists an entity tag, by the weak comparison. RFC 9110, 13.1.2. */
export const hasTag = (headers: RawHeaders, tag: string): boolean =>
  headerValues(headers, 'if-none-match').some((value) =>
    [...members(value)].some((member) => member === '*' || member.replace(/^W\//i, '') === tag.slice('W/'.length)),
  )

const CONDITIONS = new Set([...CONDITIONAL_FIELDS, 'accept-encoding'])

/** Returns the fields of a request for a whole response of the origin that is read, in one of some codings. */
export function forWhole(headers: readonly string[], codings = 'identity'): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2)
    if (!CONDITIONS.has(headers[i]!.toLowerCase())) kept.push(headers[i]!, headers[i + 1]!)
  return [...kept, 'accept-encoding', codings]
}

/** Fields that describe the bytes of the origin's response. */
const OF_THE_BYTES = new Set([
  'content-length',
  'content-md5',
  'digest',
  'repr-digest',
  'content-digest',
  'unencoded-digest',
  'accept-ranges',
  'etag',
  'last-modified',
  'signature',
  'signature-input',
])

/** Returns fields of the origin for a body that edged creates from its response. */
export function changedFields(headers: RawHeaders, also: ReadonlySet<string> = new Set()): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase()
    if (!OF_THE_BYTES.has(name) && !also.has(name)) kept.push(headers[i]!, headers[i + 1]!)
  }
  return kept
}
