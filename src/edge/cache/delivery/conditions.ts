import { members } from '../../../http/accept.js'
import type { Entry } from '../entries/entry.js'
import { httpDate } from '../entries/http-date.js'
import type { CacheRequest } from './request.js'

/** Maximum ranges of one request. Requests with more ranges get the whole response (RFC 9110, 14.2). */
const MAX_RANGES = 8

/** First byte and the one after the last. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The part of a stored response that a request gets. */
export type Selection =
  | { readonly kind: 'whole' | 'not_modified' | 'precondition_failed' | 'unsatisfiable' }
  | { readonly kind: 'parts'; readonly parts: readonly Span[] }

const WHOLE: Selection = { kind: 'whole' }
const NOT_MODIFIED: Selection = { kind: 'not_modified' }
const FAILED: Selection = { kind: 'precondition_failed' }
const UNSATISFIABLE: Selection = { kind: 'unsatisfiable' }

type Validators = Pick<Entry, 'etag' | 'lastModified'>

/**
 * Evaluates conditions and ranges on a stored response (RFC 9110, 13.2.2). `length` is its length, undefined if not
 * known yet.
 */
export function select(
  request: CacheRequest,
  {
    status,
    method,
    length,
    ...validators
  }: Validators & { status: number; method: string; length: number | undefined },
): Selection {
  // Only a response that would be successful is tested (RFC 9110, 13.2.1).
  if (status < 200 || status >= 300) return WHOLE
  if (request.ifMatch !== undefined) {
    if (!lists(request.ifMatch, validators.etag, false)) return FAILED
  } else if (request.ifUnmodifiedSince !== undefined && isNewer(validators, request.ifUnmodifiedSince) === true)
    return FAILED
  if (request.ifNoneMatch !== undefined) {
    if (lists(request.ifNoneMatch, validators.etag, true)) return NOT_MODIFIED
  } else if (request.ifModifiedSince !== undefined && isNewer(validators, request.ifModifiedSince) === false)
    return NOT_MODIFIED
  if (request.range === undefined || status !== 200 || method === 'HEAD' || length === undefined) return WHOLE
  if (request.ifRange !== undefined && !isCurrent(request.ifRange, validators)) return WHOLE
  const parts = rangesOf(request.range, length)
  if (parts === undefined) return WHOLE
  return parts.length === 0 ? UNSATISFIABLE : { kind: 'parts', parts }
}

/** Returns whether a list of entity tags contains the one of the response. */
function lists(field: string, etag: string | undefined, weak: boolean): boolean {
  if (field.trim() === '*') return true
  if (etag === undefined) return false
  for (const tag of members(field)) if (weak ? strong(tag) === strong(etag) : tag === etag && !isWeak(tag)) return true
  return false
}

const isWeak = (tag: string): boolean => /^w\//i.test(tag)
const strong = (tag: string): string => (isWeak(tag) ? tag.slice(2) : tag)

/** Returns whether the response was modified after a date, or undefined if that is not known. */
function isNewer({ lastModified }: Validators, since: string): boolean | undefined {
  const modified = httpDate(lastModified)
  const date = httpDate(since)
  return modified === undefined || date === undefined ? undefined : modified > date
}

/** Strong comparison (RFC 9110, 13.1.5). */
export function isCurrent(ifRange: string, { etag, lastModified }: Validators): boolean {
  if (ifRange.startsWith('"')) return ifRange === etag
  return !isWeak(ifRange) && lastModified !== undefined && ifRange === lastModified
}

const RANGE = /^(\d{0,15})-(\d{0,15})$/

/** Returns the ranges that overlap the length, or undefined if the whole response is sent. */
function rangesOf(field: string, length: number): readonly Span[] | undefined {
  const [, list] = /^bytes=(.*)$/i.exec(field) ?? []
  if (list === undefined) return undefined
  const spans: Span[] = []
  let count = 0
  for (const member of members(list)) {
    const [, first, last] = RANGE.exec(member) ?? []
    if (first === undefined || last === undefined || (first === '' && last === '') || ++count > MAX_RANGES)
      return undefined
    if (first === '') {
      const bytes = Math.min(Number(last), length)
      if (bytes > 0) spans.push({ from: length - bytes, to: length })
      continue
    }
    if (last !== '' && Number(last) < Number(first)) return undefined
    if (Number(first) < length)
      spans.push({ from: Number(first), to: last === '' ? length : Math.min(Number(last) + 1, length) })
  }
  if (count === 0) return undefined
  // Ranges with more bytes than the whole response overlap, and overlapping ranges serve attacks only.
  return spans.reduce((sum, { from, to }) => sum + to - from, 0) > length ? undefined : spans
}
