import { finder, type Find } from './find-text.js'
import type { Bytes } from './value.js'

/** A wildcard pattern: texts with anything between them. */
export interface Wildcard {
  readonly pattern: Bytes
  /** True if case matters. */
  readonly strict: boolean
  /** What stands before, between and after the stars; one part when there is no star. In lower case unless strict. */
  readonly parts: readonly Bytes[]
  /** Returns whether the whole text fits. */
  test(text: Bytes): boolean
  /** What each star stands for, each as short as it can be from the left; undefined if the text does not fit. */
  exec(text: Bytes): Bytes[] | undefined
}

/** Reads a pattern (`*`, `\*` and `\\` mean something); returns the reason when it is none. */
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

/** A byte string with A-Z in lower case; other bytes stay, `É` in Latin-1 too. */
export function lowerAscii(text: Bytes): Bytes {
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char > 127) return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  }
  return text.toLowerCase()
}

/** Greedy from the left, which is right for a search that need not tell where the stars are. */
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
    // The last part is at the end: the star before it takes all that is left.
    const next = index === parts.length - 1 ? text.length - part.length : (finds[index] as Find)(text, at)
    found.push(original.slice(at, next))
    at = next + part.length
  }
  return found
}
