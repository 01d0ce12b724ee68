import { BACKSLASH, COMMA, QUOTE, trimmed } from '../core/bytes.js'

/** One member of an Accept field: the media range in lower case without its parameters, and its weight. */
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

/** The members of a comma-separated field value, trimmed, empty ones left out; commas in quoted strings do not count. */
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
 * The media ranges of an Accept field (several fields: joined with commas), in their order. Members that are not valid
 * are left out (RFC 9110, 12.5.1 and 5.6.6). The time is linear in the length, whatever stands in it.
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
    // Two weights contradict each other: there is no telling which one is meant.
    if (quality !== undefined || !WEIGHT.test(value)) return undefined
    quality = Number(value)
  }
  return { range, quality: quality ?? 1 }
}
