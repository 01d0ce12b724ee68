import { ExprSpanError, locate, type ExprError } from '../error.js'
import { parseFilter } from '../parser.js'
import { survey, type ExpressionPlace, type Uses } from '../usage.js'
import type { Scheme } from '../language/scheme.js'
import { toBytes, toText } from '../language/value.js'
import { fixOf, type Fix } from './fixes.js'

/** Errors of one expression that are reported. */
const MAX_ERRORS = 10

/** An error of an expression, and what mends it. */
export interface FoundError {
  readonly error: ExprError
  /** Text in place of the part that the error covers. Undefined if no common mistake explains the error. */
  readonly fix: { readonly text: string } | undefined
}

/** Returns the error in a name of a list, with a name to write instead. Undefined if the list fits. */
export type CheckList = (
  use: Uses['lists'][number],
) => { readonly reason: string; readonly meant?: string | undefined } | undefined

/**
 * Returns all errors of a filter, in its order. After an error the search goes on with the fix, or without the condition
 * that has the error, so that one mistake is not reported twice.
 */
export function allErrors(
  text: string,
  { scheme, place, list }: { readonly scheme: Scheme; readonly place: ExpressionPlace; readonly list: CheckList },
): FoundError[] {
  const source = toBytes(text)
  const mended = new Mended(source)
  const found: FoundError[] = []
  let rounds = 0
  for (const mistake of mistakes(mended, { scheme, place, list })) {
    const { error, fix } = mistake
    const span = mended.original(fix ?? error)
    const located = new ExprSpanError(error.kind, error.reason, span.start, span.end)
    const place = locate(source, located)
    // Several parentheses are missing at one place.
    if (!found.some(({ error: known }) => known.message === place.message))
      found.push({ error: place, fix: fix && { text: fix.text } })
    if (++rounds === MAX_ERRORS) break
    if (!mended.apply(fix ?? without(mended.text, error))) break
  }
  return found.toSorted((one, other) => one.error.line - other.error.line || one.error.column - other.error.column)
}

interface Mistake {
  readonly error: ExprSpanError
  readonly fix: Fix | undefined
}

/** Yields the first error of a text, each time that the text was mended. */
function* mistakes(
  mended: Mended,
  { scheme, place, list }: { scheme: Scheme; place: ExpressionPlace; list: CheckList },
): Generator<Mistake> {
  for (;;) {
    const { text } = mended
    let uses: Uses
    try {
      uses = survey(parseFilter(toText(text), scheme).root, place)
    } catch (error) {
      if (!(error instanceof ExprSpanError)) throw error
      yield { error, fix: fixOf(text, error) }
      if (mended.text === text) return
      continue
    }
    for (const use of uses.lists.toReversed()) {
      const wrong = list(use)
      if (!wrong) continue
      const at = text.indexOf(`$${use.name}`, use.span.start)
      const [start, end] = at < 0 ? [use.span.start, use.span.end] : [at, at + use.name.length + 1]
      const { meant } = wrong
      const error = new ExprSpanError('NotAllowedHere', wrong.reason, start, end)
      yield { error, fix: meant === undefined ? undefined : { text: `$${meant}`, start, end } }
    }
    return
  }
}

/** A text with changes, and where its parts were before. Offsets count bytes. */
class Mended {
  text: string
  readonly #edits: { readonly start: number; readonly end: number; readonly length: number }[] = []

  constructor(text: string) {
    this.text = text
  }

  /** Returns where a part is in the first text. */
  original({ start, end }: { readonly start: number; readonly end: number }) {
    return { start: this.#before(start), end: this.#before(end) }
  }

  /** Returns false if nothing changes. */
  apply(fix: Fix): boolean {
    const bytes = toBytes(fix.text)
    const text = this.text.slice(0, fix.start) + bytes + this.text.slice(fix.end)
    if (text === this.text) return false
    this.text = text
    this.#edits.push({ start: fix.start, end: fix.end, length: bytes.length })
    return true
  }

  #before(at: number): number {
    for (const { start, end, length } of this.#edits.toReversed())
      if (at >= start + length) at += end - start - length
      else if (at > start) at = start
    return at
  }
}

const JOIN = /^(?:and|or|xor|&&|\|\||\^\^)/
const WORD = /[\w.]/

/** Returns the change that replaces the condition around an error by one that is always true. */
function without(source: string, error: ExprSpanError): Fix {
  const { starts, ends } = conditionBounds(source)
  const start = starts.findLast((at) => at <= error.start) ?? 0
  const end = ends.find((at) => at >= Math.max(error.start, start + 1)) ?? source.length
  return { text: ' true ', start, end }
}

/** Returns where conditions begin and end: at operators that join them and at parentheses that belong to no call. */
function conditionBounds(source: string): { starts: number[]; ends: number[] } {
  const starts = [0]
  const ends: number[] = []
  const calls: boolean[] = []
  for (let at = 0; at < source.length; at++) {
    const char = source[at]!
    const isInCall = calls.includes(true)
    if (char === '"') at = endOfText(source, at)
    else if (char === '(') {
      calls.push(
        WORD.test(source[at - 1] ?? '') && !/\b(?:not|and|or|xor)$/.test(source.slice(Math.max(0, at - 4), at)),
      )
      if (!calls.includes(true)) starts.push(at + 1)
    } else if (char === ')') {
      calls.pop()
      if (!isInCall) ends.push(at)
    } else if (!isInCall && !WORD.test(source[at - 1] ?? '')) {
      const join = JOIN.exec(source.slice(at, at + 4))?.[0]
      if (join === undefined || (/\w$/.test(join) && WORD.test(source[at + join.length] ?? ''))) continue
      ends.push(at)
      starts.push(at + join.length)
      at += join.length - 1
    }
  }
  return { starts, ends }
}

/** Returns the offset of the quotation mark that ends a text; also of a raw one, `r#"..."#`. */
function endOfText(source: string, start: number): number {
  const raw = /r(#*)$/.exec(source.slice(Math.max(0, start - 256), start))
  if (raw) {
    const end = source.indexOf(`"${raw[1]}`, start + 1)
    return end < 0 ? source.length : end + raw[1]!.length
  }
  for (let at = start + 1; at < source.length; at++) {
    if (source[at] === '\\') at++
    else if (source[at] === '"') return at
  }
  return source.length
}
