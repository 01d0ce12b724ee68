import { BACKSLASH, COMMA, QUOTE, trimmed } from '../core/bytes.js'

/** One member of an Accept field, with the media range in lower case without its parameters and its weight. */
export interface MediaRange {
  readonly range: string
  /** 0 ("not acceptable") to 1, at most three decimals. */
  readonly quality: number
}

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+"
const QUOTED = '"(?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"'
const RANGE = new RegExp(`${TOKEN}/${TOKEN}`, 'y')
const PARAMETER = new RegExp(`[ \\t]*;[ \\t]*(?:(${TOKEN})=(${TOKEN}|${QUOTED}))?`, 'y')
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/**
 * Returns the members of a comma-separated field value, trimmed, without empty ones. Commas in quoted strings do not
 * count.
 */
export function* members(value: string): Generator<string> {
  let from = 0
  let quoted = false
  for (let at = 0; at < value.length; at++) {
    const char = value.charCodeAt(at)
    if (quoted && char === BACKSLASH) at++
    else if (char === QUOTE) quoted = !quoted
    else if (char === COMMA && !quoted) {
      const member = trimmed(value, from, at)
      if (member !== '') yield member
      from = at + 1
    }
  }
  const last = trimmed(value, from, value.length)
  if (last !== '') yield last
}

/**
 * Returns the media ranges of an Accept field in order. Several fields are joined with commas. Invalid members are left
 * out (RFC 9110, 12.5.1 and 5.6.6). The time is linear in the length for any value.
 */
export function* mediaRanges(accept: string): Generator<MediaRange> {
  for (const member of members(accept)) {
    const range = mediaRange(member)
    if (range) yield range
  }
}

function mediaRange(member: string): MediaRange | undefined {
  RANGE.lastIndex = 0
  const range = RANGE.exec(member)?.[0].toLowerCase()
  if (range === undefined) return undefined
  let quality: number | undefined
  let at = range.length
  while (at < member.length) {
    PARAMETER.lastIndex = at
    const parameter = PARAMETER.exec(member)
    if (!parameter) return undefined
    at = PARAMETER.lastIndex
    const [, name, value = ''] = parameter
    if (name !== 'q' && name !== 'Q') continue
    // Two weights contradict each other. The intended weight is unknown.
    if (quality !== undefined || !WEIGHT.test(value)) return undefined
    quality = Number(value)
  }
  return { range, quality: quality ?? 1 }
}

/**
 * Returns the type in `offered` (media types in lower case) that an Accept header prefers. The order is highest quality
 * first, then the most specific range, then the order in the header, then the order of `offered`. Undefined if none is
 * acceptable. By RFC 9110, 12.5.1, for each type the most specific range that includes it sets the quality.
 */
export function preferredType<T extends string>(accept: string, offered: readonly T[]): T | undefined {
  const ranges = [...mediaRanges(accept)]
  let best: { type: T; quality: number; specificity: number; position: number } | undefined
  for (const type of offered) {
    let match: { quality: number; specificity: number; position: number } | undefined
    for (const [position, { range, quality }] of ranges.entries()) {
      const specificity = specificityOf(range, type)
      if (specificity > (match?.specificity ?? 0)) match = { quality, specificity, position }
    }
    if (match === undefined || match.quality === 0) continue
    const order =
      best === undefined
        ? 1
        : match.quality - best.quality || match.specificity - best.specificity || best.position - match.position
    if (order > 0) best = { type, ...match }
  }
  return best?.type
}

/**
 * Returns 3 if the range names the type itself, 2 for its main type, 1 for any type, 0 if it does not include the type.
 */
function specificityOf(range: string, type: string): number {
  if (range === type) return 3
  if (range === '*/*') return 1
  return range.endsWith('/*') && type.startsWith(range.slice(0, -1)) ? 2 : 0
}
