/** Header fields in order (name, value, name, value). Each character one byte (latin1). */
export type RawHeaders = readonly string[]

/** Returns the first value of a field, by its lower-case name. */
export function headerOf(headers: RawHeaders, name: string): string | undefined {
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const candidate = headers[i] as string
    if (candidate.length === name.length && candidate.toLowerCase() === name) return headers[i + 1]
  }
  return undefined
}

/** Returns the fields without the fields of a name (lower case). */
export function withoutHeader(headers: RawHeaders, name: string): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2)
    if (headers[i]!.length !== name.length || headers[i]!.toLowerCase() !== name)
      kept.push(headers[i]!, headers[i + 1]!)
  return kept
}

/** Returns all values of a field (lower-case name), in order. */
export function headerValues(headers: RawHeaders, name: string): string[] {
  const found: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2)
    if (headers[i]!.length === name.length && headers[i]!.toLowerCase() === name) found.push(headers[i + 1]!)
  return found
}

/** Returns the fields with this one instead of all others of its name. */
export function withHeader(headers: RawHeaders, name: string, value: string): string[] {
  const fields = withoutHeader(headers, name.toLowerCase())
  fields.push(name, value)
  return fields
}

/** Returns a name in lower case with hyphens for underscores, because many origins read both as one variable. */
export const hyphenedName = (name: string): string => name.toLowerCase().replaceAll('_', '-')

/** Fields that request a part of a response, or make it conditional (RFC 9110 13.1, 14.2), in lower case. */
export const CONDITIONAL_FIELDS: readonly string[] = [
  'range',
  'if-range',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
]
