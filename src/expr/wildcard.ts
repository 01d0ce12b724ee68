import { finder, type Find } from './find-text.js'
import type { Bytes } from './value.js'

/** A wildcard pattern: texts with anything between them. */
export interface Wildcard {
  readonly pattern: Bytes
  /** True if case matters. */
  readonly strict: boolean
  /** The texts before, between and after the stars; one part if there is no star. In lower case unless strict. */
  readonly parts: readonly Bytes[]
  /** Returns whether the whole text matches. */
  test(text: Bytes): boolean
  /** Returns the match of each star, each as short as possible from the left; undefined if the text does not match. */
  exec(text: Bytes): Bytes[] | undefined
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
    test: strict ? (text) => fits(folded, finds, text) : (text) => fits(folded, finds, lowerAscii(text)),
    exec: (text) => stars(folded, finds, strict ? text : lowerAscii(text), text),
  }
}

/** Returns a byte string with A-Z in lower case; other bytes, `É` in Latin-1 too, are unchanged. */
export function lowerAscii(text: Bytes): Bytes {
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char > 127) return withCase(text, 0x41)
  }
  return text.toLowerCase()
}

/** Returns a byte string with a-z in upper case; other bytes are unchanged. */
export function upperAscii(text: Bytes): Bytes {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) return withCase(text, 0x61)
  return text.toUpperCase()
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

/** Matches greedily from the left, which is right for a search that need not return the stars. */
function fits(parts: readonly Bytes[], finds: readonly Find[], text: Bytes): boolean {
  const first = parts[0] as Bytes
  if (parts.length === 1) return text === first
  const last = parts[parts.length - 1] as Bytes
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  const end = text.length - last.length
  for (let index = 1; index < parts.length - 1; index++) {
    const part = parts[index] as Bytes
    const found = (finds[index] as Find)(text, at)
    if (found === -1 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}

function stars(parts: readonly Bytes[], finds: readonly Find[], text: Bytes, original: Bytes): Bytes[] | undefined {
  if (!fits(parts, finds, text)) return undefined
  const found: Bytes[] = []
  let at = (parts[0] as Bytes).length
  for (let index = 1; index < parts.length; index++) {
    const part = parts[index] as Bytes
    // The last part is at the end: the star before it matches all that is left.
    const next = index === parts.length - 1 ? text.length - part.length : (finds[index] as Find)(text, at)
    found.push(original.slice(at, next))
    at = next + part.length
  }
  return found
}
