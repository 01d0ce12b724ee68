import { ALWAYS, literal, noneOf, part, patternLiteral, type Condition } from './condition.js'

/** A part of a text that is made for each request. */
export type TemplatePart =
  | { readonly text: string }
  /** An expression that gives a text. */
  | { readonly expression: string }
  /** A group of the pattern that the request matched. */
  | { readonly group: number }
  /** `http` or `https`. */
  | { readonly scheme: true }

/** The pattern that a request matched, and the expression that it was matched against. */
export interface Captures {
  readonly source: string
  readonly pattern: string
}

/** A text for the requests of one condition: as it is, or as an expression. */
export interface Alternative {
  readonly when: Condition
  readonly value?: string
  readonly expression?: string
}

/** Returns a text without the condition under which it is used. */
export const textOnly = ({ value, expression }: Alternative): Omit<Alternative, 'when'> =>
  expression === undefined ? { value: value ?? '' } : { expression }

/** Returns the texts of a template. Undefined if the rules language cannot make such a text. */
export function textsOf(parts: readonly TemplatePart[], captures?: Captures): readonly Alternative[] | undefined {
  const schemeAt = parts.findIndex((each) => 'scheme' in each)
  if (schemeAt < 0) {
    const text = textOf(parts, captures)
    return text && [{ when: ALWAYS, ...text }]
  }
  const secure = part('ssl')
  const found: Alternative[] = []
  for (const [when, text] of [
    [secure, 'https'],
    [noneOf(secure), 'http'],
  ] as const) {
    const one = textOf(
      parts.map((each) => ('scheme' in each ? { text } : each)),
      captures,
    )
    if (one === undefined) return undefined
    found.push({ when, ...one })
  }
  return found
}

function textOf(parts: readonly TemplatePart[], captures: Captures | undefined): Omit<Alternative, 'when'> | undefined {
  const merged = merge(parts)
  if (merged.length === 0) return { value: '' }
  if (merged.length === 1 && 'text' in merged[0]!) return { value: merged[0].text }
  let first = merged.findIndex((each) => 'group' in each)
  let last = merged.findLastIndex((each) => 'group' in each)
  if (first > 0 && 'text' in merged[first - 1]!) first--
  if (last >= 0 && last + 1 < merged.length && 'text' in merged[last + 1]!) last++
  if (first < 0) return { expression: joined(merged.map(expressionOf)) }
  const between = merged.slice(first, last + 1)
  // One function replaces a pattern once in an expression: all groups have to be in its replacement.
  if (captures === undefined || between.some((each) => 'expression' in each)) return undefined
  const replaced = `regex_replace(${captures.source}, ${patternLiteral(wholePattern(captures.pattern))}, ${literal(
    between
      .map((each) => ('group' in each ? `\${${each.group}}` : (each as { text: string }).text.replaceAll('$', '$$$$')))
      .join(''),
  )})`
  return {
    expression: joined([
      ...merged.slice(0, first).map(expressionOf),
      replaced,
      ...merged.slice(last + 1).map(expressionOf),
    ]),
  }
}

/** Returns a pattern that matches the whole of every text in which the given one matches. */
function wholePattern(pattern: string): string {
  const alternatives = /(^|[^\\])\|/.test(pattern)
  const body = alternatives ? `(?:${pattern})` : pattern
  const start = !alternatives && pattern.startsWith('^') ? '' : '^.*?'
  const end = !alternatives && /[^\\]\$$/.test(pattern) ? '' : '.*$'
  return `${start}${body}${end}`
}

/** Joins neighbouring constant texts. */
function merge(parts: readonly TemplatePart[]): TemplatePart[] {
  const merged: TemplatePart[] = []
  for (const each of parts) {
    const before = merged.at(-1)
    if ('text' in each && each.text === '') continue
    if (before && 'text' in before && 'text' in each) merged[merged.length - 1] = { text: before.text + each.text }
    else merged.push(each)
  }
  return merged
}

const expressionOf = (each: TemplatePart): string =>
  'text' in each ? literal(each.text) : 'expression' in each ? each.expression : '""'

const joined = (expressions: readonly string[]): string =>
  expressions.length === 1 ? expressions[0]! : `concat(${expressions.join(', ')})`
