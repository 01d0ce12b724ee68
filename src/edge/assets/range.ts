/** First and last byte of a part. */
export interface Range {
  readonly first: number
  readonly last: number
}

/**
 * Returns the range of a Range field (RFC 9110, 14.2), or `unsatisfiable` if it is outside of the file. Returns
 * undefined if the whole file must be sent, because of several ranges, another unit, or an invalid range.
 */
export function rangeOf(field: string | undefined, size: number): Range | 'unsatisfiable' | undefined {
  const [, from, to] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(field ?? '') ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return undefined
  if (from === '') {
    const length = Math.min(Number(to), size)
    return length === 0 ? 'unsatisfiable' : { first: size - length, last: size - 1 }
  }
  const first = Number(from)
  if (to !== '' && Number(to) < first) return undefined
  if (first >= size) return 'unsatisfiable'
  return { first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
}
