import { BUFFER_STEPS, type Budget } from './budget.js'
import { finder, type Find } from './find-text.js'
import type { Bytes } from './value.js'

/** A wildcard pattern, which has texts with anything between them. */
export interface Wildcard {
  readonly pattern: Bytes
  /** True if case matters. */
  readonly strict: boolean
  /** The texts before, between and after the stars. One part if there is no star. In lower case unless strict. */
  readonly parts: readonly Bytes[]
  /** Returns whether the whole text matches. */
  test(text: Bytes, budget: Budget): boolean
  /** Returns the match of each star, each as short as possible from the left. Undefined if the text does not match. */
  exec(text: Bytes, budget: Budget): Bytes[] | undefined
}

/** Parses a pattern with the escapes `*`, `\*` and `\\`. Returns the reason if it is invalid. */
export function parseWildcard(pattern: Bytes, strict: boolean): Wildcard | string {
  const parts: Bytes[] = []
  let part = ''
  let afterStar = false
  for (let at = 0; at < pattern.length; at++) {
    let char = pattern[at] as string
    if (char === '*') {
      if (afterStar) return 'wildcard contains a double star'
      parts.push(part)
      part = ''
      afterStar = true
      continue
    }
    if (char === '\\') {
      char = pattern[++at] ?? ''
      if (char !== '*' && char !== '\\') return `invalid wildcard: invalid escape sequence at position ${at - 1}`
    }
    part += char
    afterStar = false
  }
  parts.push(part)
  const folded = strict ? parts : parts.map(lowerAscii)
  const finds = folded.map(finder)
  return {
    pattern,
    strict,
    parts: folded,
    test: (text, budget) => fits({ parts: folded, finds, budget }, strict ? text : lowered(text, budget)),
    exec: (text, budget) => stars({ parts: folded, finds, budget }, strict ? text : lowered(text, budget), text),
  }
}

/** Returns a byte string with A-Z in lower case. Other bytes, `É` in Latin-1 too, are unchanged. */
export const lowerAscii = (text: Bytes): Bytes => (isAscii(text) ? text.toLowerCase() : withCase(text, 0x41))

/** Returns a byte string with a-z in upper case. Other bytes are unchanged. */
export const upperAscii = (text: Bytes): Bytes => (isAscii(text) ? text.toUpperCase() : withCase(text, 0x61))

function isAscii(text: Bytes): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return false
  return true
}

/** Returns a byte string with the other case of the 26 letters that begin with `first`. */
function withCase(text: Bytes, first: number): Bytes {
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length; at++) {
    const letter = (bytes[at] as number) - first
    if (letter >= 0 && letter < 26) bytes[at] = (first ^ 0x20) + letter
  }
  return bytes.toString('latin1')
}

/** The parts of a pattern, their searches, and the budget of one comparison. */
interface Match {
  readonly parts: readonly Bytes[]
  readonly finds: readonly Find[]
  readonly budget: Budget
}

/** Returns a byte string with A-Z in lower case, like {@link lowerAscii}, and charges the budget for it. */
export function lowered(text: Bytes, budget: Budget): Bytes {
  const ascii = isAscii(text)
  budget.spend(ascii ? text.length >> 1 : text.length + BUFFER_STEPS)
  return ascii ? text.toLowerCase() : withCase(text, 0x41)
}

/** Matches greedily from the left, which is right for a search that need not return the stars. */
function fits({ parts, finds, budget }: Match, text: Bytes): boolean {
  // Comparisons of both ends.
  budget.spend(1)
  const first = parts[0] as Bytes
  if (parts.length === 1) return text === first
  const last = parts[parts.length - 1] as Bytes
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  const end = text.length - last.length
  for (let index = 1; index < parts.length - 1; index++) {
    const part = parts[index] as Bytes
    const found = (finds[index] as Find)(text, at, budget)
    if (found === -1 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}

function stars(match: Match, text: Bytes, original: Bytes): Bytes[] | undefined {
  if (!fits(match, text)) return undefined
  const { parts, finds, budget } = match
  const found: Bytes[] = []
  let at = (parts[0] as Bytes).length
  for (let index = 1; index < parts.length; index++) {
    const part = parts[index] as Bytes
    // The last part is at the end. The star before it matches all that is left.
    const next = index === parts.length - 1 ? text.length - part.length : (finds[index] as Find)(text, at, budget)
    found.push(original.slice(at, next))
    at = next + part.length
  }
  return found
}
