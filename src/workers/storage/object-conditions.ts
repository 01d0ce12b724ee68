import type { StoredObject } from '../../core/model/objects.js'

/** One entity tag of a condition, or any. */
export type EtagTest =
  { readonly value: string; readonly type: 'strong' | 'weak' } | { readonly type: 'wildcard'; readonly value?: never }

/** Condition for the stored object. Times are milliseconds since 1970. */
export interface ObjectCondition {
  readonly etagMatches?: readonly EtagTest[]
  readonly etagDoesNotMatch?: readonly EtagTest[]
  readonly uploadedBefore?: number
  readonly uploadedAfter?: number
  /** Times are compared in whole seconds, as in header fields. */
  readonly secondsGranularity?: boolean
}

/** Returns whether a condition is true of an object, or of its absence (RFC 9110, 13.1). */
export function meets(condition: ObjectCondition, object: StoredObject | undefined): boolean {
  const { etagMatches, etagDoesNotMatch, uploadedAfter, uploadedBefore, secondsGranularity } = condition
  if (!object) return etagMatches === undefined && uploadedAfter === undefined
  const time = (ms: number): number => (secondsGranularity === true ? Math.floor(ms / 1000) : ms)
  const uploaded = time(object.uploaded)
  const matches = etagMatches === undefined || includes(etagMatches, object.etag, false)
  const differs = etagDoesNotMatch === undefined || !includes(etagDoesNotMatch, object.etag, true)
  // Entity tags win over times.
  const after = uploadedAfter === undefined || time(uploadedAfter) < uploaded || etagDoesNotMatch !== undefined
  const before = uploadedBefore === undefined || uploaded < time(uploadedBefore) || etagMatches !== undefined
  return matches && differs && after && before
}

const includes = (tests: readonly EtagTest[], etag: string, weak: boolean): boolean =>
  tests.some((test) => test.type === 'wildcard' || (test.value === etag && (weak || test.type === 'strong')))

/** Reads the entity tags of `If-Match` and `If-None-Match`. */
export function etagTests(field: string): EtagTest[] {
  return field
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '')
    .map((tag) =>
      tag === '*'
        ? { type: 'wildcard' }
        : { type: tag.startsWith('W/') ? 'weak' : 'strong', value: tag.replace(/^W\//, '').replaceAll('"', '') },
    )
}

/** Requested part of an object, from `offset`, or the last `suffix` bytes. */
export interface WantedRange {
  readonly offset?: number
  readonly length?: number
  readonly suffix?: number
}

export interface ByteRange {
  readonly offset: number
  readonly length: number
}

/** Returns the requested bytes of an object. Undefined if the object has no such bytes. */
export function byteRange({ offset, length, suffix }: WantedRange, size: number): ByteRange | undefined {
  if (suffix !== undefined) {
    const bytes = Math.min(suffix, size)
    return suffix > 0 ? { offset: size - bytes, length: bytes } : undefined
  }
  const from = offset ?? 0
  const bytes = Math.min(length ?? size - from, size - from)
  return from >= 0 && from < size && bytes > 0 ? { offset: from, length: bytes } : undefined
}

/** Reads a `Range` field with one range of bytes. Undefined if all bytes are requested. */
export function wantedRange(field: string): WantedRange | undefined {
  const [, first = '', last = ''] = /^\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(field) ?? []
  if (first === '') return last === '' ? undefined : { suffix: Number(last) }
  if (last === '') return { offset: Number(first) }
  return Number(last) < Number(first) ? undefined : { offset: Number(first), length: Number(last) - Number(first) + 1 }
}
