import { toText } from './language/value.js'

/**
 * Class of an expression error. The classes of the language come first, then the classes for our limits and positions.
 */
export type ExprErrorClass =
  | 'ExpectedName'
  | 'ExpectedLiteral'
  | 'UnknownIdentifier'
  | 'EOF'
  | 'UnsupportedOp'
  | 'TypeMismatch'
  | 'InvalidIndexAccess'
  | 'InvalidMapEachAccess'
  | 'InvalidArgumentsCount'
  | 'InvalidArgumentKind'
  | 'InvalidArgumentType'
  | 'InvalidArgumentValue'
  | 'ParseInt'
  | 'ParseNetwork'
  | 'ParseRegex'
  | 'ParseWildcard'
  | 'IncompatibleRangeBounds'
  | 'InvalidCharacterEscape'
  | 'MissingEndingQuote'
  | 'CountMismatch'
  | 'InvalidListName'
  | 'InvalidRawStringHashCount'
  | 'NestingLimitExceeded'
  | 'ExpressionTooLong'
  | 'TooManyRegexes'
  | 'NotAllowedHere'

/**
 * An expression that cannot be used. `message` has three lines. These are the position, the line itself, and carets
 * under the error with the reason. `line` and `column` count from 1. `column` and `length` count bytes of the UTF-8
 * text.
 */
export class ExprError extends Error {
  override readonly name = 'ExprError'
  readonly class: ExprErrorClass
  readonly line: number
  readonly column: number
  readonly length: number
  readonly reason: string

  constructor(kind: ExprErrorClass, reason: string, place: Place) {
    super(`Filter parsing error (${place.line}:${place.column}):\n${place.text}\n${place.marks} ${reason}`)
    this.class = kind
    this.line = place.line
    this.column = place.column
    this.length = place.length
    this.reason = reason
  }
}

interface Place {
  line: number
  column: number
  length: number
  text: string
  marks: string
}

/** Error of the lexer and the parser, with byte offsets; {@link locate} converts it to an ExprError. */
export class ExprSpanError extends Error {
  readonly kind: ExprErrorClass
  readonly reason: string
  readonly start: number
  readonly end: number

  constructor(kind: ExprErrorClass, reason: string, start: number, end: number) {
    super(reason)
    this.kind = kind
    this.reason = reason
    this.start = start
    this.end = end
  }
}

/**
 * Returns the error for a span of `source` (a byte string). The span is cut at the end of its line and at least one
 * wide.
 */
export function locate(source: string, issue: ExprSpanError): ExprError {
  const lineStart = issue.start === 0 ? 0 : source.lastIndexOf('\n', issue.start - 1) + 1
  const newline = source.indexOf('\n', lineStart)
  const lineEnd = newline === -1 ? source.length : newline
  // The reference reports patterns with an empty span. Every other error covers at least one column.
  const least = issue.kind === 'ParseRegex' ? 0 : 1
  const end = Math.min(issue.end, lineEnd)
  let line = 1
  for (let at = source.indexOf('\n'); at !== -1 && at < lineStart; at = source.indexOf('\n', at + 1)) line++

  // Carets are aligned to characters, though columns count bytes. Otherwise the carets drift after the first umlaut.
  const before = toText(source.slice(lineStart, issue.start))
  const marked = toText(source.slice(issue.start, Math.max(end, issue.start)))
  return new ExprError(issue.kind, issue.reason, {
    line,
    column: issue.start - lineStart + 1,
    length: Math.max(least, end - issue.start),
    text: toText(source.slice(lineStart, lineEnd)).replace(/\r$/, ''),
    marks: before.replace(/[^\t]/gu, ' ') + '^'.repeat(Math.max(1, Array.from(marked).length)),
  })
}
