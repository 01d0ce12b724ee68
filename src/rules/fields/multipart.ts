/*
 * Multipart bodies (RFC 2046, 5.1 and RFC 7578), as byte strings. One pass from line to line, so the time is linear for
 * any body. Deviations that origins accept are accepted too, because a rule cannot judge a part that it does not see.
 * Examples are lines that end with a line feed alone, white space after a boundary, and a missing last boundary.
 */
import type { Budget } from '../../expr/index.js'
import type { RawHeaders } from '../../http/headers.js'

/** A part of a multipart body. */
export interface Part {
  /** Values of its header fields, in order. */
  readonly dispositions: readonly string[]
  readonly types: readonly string[]
  readonly encodings: readonly string[]
  /** Names in Content-Disposition. */
  readonly names: readonly string[]
  readonly filenames: readonly string[]
  readonly value: string
}

/** Maximum number of parts that are read. */
export const MAX_PARTS = 1000
/** Maximum number of bytes of header fields that are read per part. */
const MAX_HEAD = 16_384

const MULTIPART = /^[ \t]*multipart\//i

/** Returns the boundary that Content-Type names. Undefined if the body is not multipart. */
export function boundaryOf(headers: RawHeaders): string | undefined {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] as string
    const value = headers[at + 1] as string
    if (name.length !== 12 || name.toLowerCase() !== 'content-type' || !MULTIPART.test(value)) continue
    const [boundary] = parametersOf(value, 'boundary')
    if (boundary !== undefined && boundary !== '') return boundary
  }
  return undefined
}

/** Cost of a byte in the header fields of a part, and of the part, in steps of the budget. */
const HEAD_STEPS = 6
const PART_STEPS = 200

/**
 * Returns the parts of a body, up to its last boundary, its end, or {@link MAX_PARTS}. Charges the budget for each part
 * and for the pass over the body.
 */
export function partsOf(body: string, boundary: string, budget: Budget): readonly Part[] {
  budget.spend(body.length >> 1)
  const delimiter = `--${boundary}`
  const parts: Part[] = []
  let from = -1
  let line = 0
  while (line < body.length && parts.length < MAX_PARTS) {
    if (body.startsWith(delimiter, line)) {
      const rest = afterBoundary(body, line + delimiter.length)
      if (rest !== undefined) {
        if (from >= 0) parts.push(part(body, from, endBefore(body, from, line), budget))
        if (rest < 0) return parts
        from = rest
        line = rest
        continue
      }
    }
    // Only lines that may be boundaries are checked.
    const next = body.indexOf('\n--', line)
    line = next < 0 ? body.length : next + 1
  }
  // The last boundary is missing, or lies beyond the buffered part of the body.
  if (from >= 0 && parts.length < MAX_PARTS) parts.push(part(body, from, body.length, budget))
  return parts
}

/**
 * Returns where the part after a boundary begins. Negative after the last part. Undefined if the line is not a
 * boundary.
 */
function afterBoundary(body: string, at: number): number | undefined {
  const last = body.startsWith('--', at)
  if (last) at += 2
  while (body[at] === ' ' || body[at] === '\t') at++
  if (body[at] === '\r') at++
  if (at < body.length && body[at] !== '\n') return undefined
  return last ? -1 : Math.min(at + 1, body.length)
}

/** Returns the end of a part. The line break before a boundary belongs to the boundary. */
function endBefore(body: string, from: number, boundary: number): number {
  const end = body[boundary - 2] === '\r' ? boundary - 2 : boundary - 1
  return Math.max(from, end)
}

function part(body: string, from: number, to: number, budget: Budget): Part {
  const { fields, end } = headOf(body, from, to)
  budget.spend(PART_STEPS + Math.min(end - from, MAX_HEAD) * HEAD_STEPS)
  const all = (wanted: string) => fields.filter(({ name }) => name === wanted).map(({ value }) => value)
  const dispositions = all('content-disposition')
  return {
    dispositions,
    types: all('content-type'),
    encodings: all('content-transfer-encoding'),
    names: dispositions.flatMap((value) => parametersOf(value, 'name')),
    filenames: dispositions.flatMap((value) => [
      ...parametersOf(value, 'filename'),
      ...parametersOf(value, 'filename*'),
    ]),
    value: body.slice(end, to),
  }
}

/** Returns the header fields of a part, and where its content begins. */
function headOf(body: string, from: number, to: number) {
  const fields: { name: string; value: string }[] = []
  let at = from
  while (at < to) {
    const feed = body.indexOf('\n', at)
    const next = feed < 0 || feed >= to ? to : feed + 1
    const line = withoutBreak(body.slice(at, next))
    at = next
    if (line === '') break
    if (at - from > MAX_HEAD) return { fields, end: afterHead(body, at, to) }
    const last = fields.at(-1)
    const colon = line.indexOf(':')
    if ((line[0] === ' ' || line[0] === '\t') && last !== undefined) last.value += ` ${trimmed(line)}`
    else if (colon > 0) {
      fields.push({ name: trimmed(line.slice(0, colon)).toLowerCase(), value: trimmed(line.slice(colon + 1)) })
    }
  }
  return { fields, end: at }
}

/** Returns where the content of a part begins whose header fields continue at `from`, which is the start of a line. */
function afterHead(body: string, from: number, to: number): number {
  let line = from
  while (line < to) {
    if (body[line] === '\n') return line + 1
    if (body[line] === '\r' && body[line + 1] === '\n') return Math.min(line + 2, to)
    const feed = body.indexOf('\n', line)
    if (feed < 0) break
    line = feed + 1
  }
  return to
}

const withoutBreak = (line: string): string => line.replace(/\r?\n$/, '')
const trimmed = (text: string): string => text.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '')

/** `; name="value"` and `; name=value`, repeated. */
const PARAMETER = /;[ \t]*([^\s=;"]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\[^])*)"?|([^;]*))|"(?:[^"\\]|\\[^])*"?|[^;"]+|;/y

/** Returns the values of a parameter, without quotes and the backslashes in them. */
function parametersOf(value: string, wanted: string): string[] {
  const found: string[] = []
  PARAMETER.lastIndex = 0
  for (let match = PARAMETER.exec(value); match !== null; match = PARAMETER.exec(value)) {
    const [, name, quoted, plain] = match
    if (name === undefined || name.toLowerCase() !== wanted) continue
    // A backslash before anything except a quote or a backslash is part of a name, because old browsers send whole
    // Windows paths.
    found.push(quoted === undefined ? trimmed(plain ?? '') : quoted.replace(/\\(["\\])/g, '$1'))
  }
  return found
}
