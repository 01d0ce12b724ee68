import { headerOf, headerValues, type RawHeaders } from '../../../http/headers.js'
import type { Span } from '../delivery/conditions.js'

/** Bytes of one part of a large response. */
export const PART_BYTES = 1_048_576

/** The bytes of a response that an origin sent, and the version of the whole response. */
export interface Extent extends Span {
  /** Bytes of the whole response. */
  readonly total: number
  /** Strong validator of the whole response. */
  readonly etag: string
}

const CONTENT_RANGE = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/i

/**
 * Returns the bytes that a response contains (RFC 9110, 14.4). Undefined unless the field is exact, and a strong
 * validator distinguishes versions (RFC 9111, 3.4).
 */
export function extentOf(headers: RawHeaders): Extent | undefined {
  const fields = headerValues(headers, 'content-range')
  const etag = strongTag(headers)
  const [, first, last, length] = CONTENT_RANGE.exec(fields.length === 1 ? fields[0]! : '') ?? []
  if (etag === undefined || first === undefined) return undefined
  const extent = { from: Number(first), to: Number(last) + 1, total: Number(length), etag }
  return extent.from < extent.to && extent.to <= extent.total ? extent : undefined
}

/** Whether an origin sends parts of a response, and a validator that differs for other versions. */
export const hasParts = (status: number, headers: RawHeaders): boolean =>
  status === 200 &&
  strongTag(headers) !== undefined &&
  headerOf(headers, 'accept-ranges')?.trim().toLowerCase() === 'bytes'

function strongTag(headers: RawHeaders): string | undefined {
  const tags = headerValues(headers, 'etag')
  return tags.length === 1 && tags[0]!.startsWith('"') ? tags[0] : undefined
}

const SINGLE = /^bytes=(\d{1,15})-(\d{0,15})$/i

/** Returns the bytes that a Range field names, if it names one range from its beginning. */
export function singleRange(field: string): Span | undefined {
  const [, first, last] = SINGLE.exec(field) ?? []
  if (first === undefined) return undefined
  const span = { from: Number(first), to: last === '' ? Infinity : Number(last) + 1 }
  return span.from < span.to ? span : undefined
}
