import type { Issue, PlaceInText } from '../../core/errors.js'
import type { ListKind, ListNamed } from '../../core/model/list.js'
import type { ExpressionType } from '../action.js'
import { KEY_SCHEME } from '../limits/key.js'
import { parsedFilter, parsedValue } from '../parsed.js'
import type { PhaseName } from '../phases.js'
import {
  ExprError,
  MAX_LENGTH,
  refusalAt,
  SCHEME,
  type Expression,
  type ParseOptions,
  type Type,
  type Uses,
  type ValueExpression,
} from '../../expr/index.js'

/** The use of an expression, with the fields that it may read, its result type, and the lists that it may name. */
export interface ExpressionPurpose {
  /** Undefined if the phase is not known. The fields and functions of all phases are then allowed. */
  readonly phase: PhaseName | undefined
  /** The member of the rule that contains it. Some members may read more than other members of their phase. */
  readonly pointer: string
  /** `key` accepts any value that distinguishes requests. */
  readonly gives: ExpressionType | 'key'
  readonly list: ListNamed
}

/** Members that {@link RulePlace} distinguishes from the expression of the rule. */
const MEMBERS = ['counting_expression', 'target_url']

/**
 * Returns the error in an expression, or undefined if the expression is valid. All expressions of the API are checked
 * here.
 */
export function checkExpression(
  text: string,
  purpose: ExpressionPurpose,
): Pick<Issue, 'message' | 'inside'> | undefined {
  const message = whollyWrong(text)
  if (message !== undefined) return { message }
  try {
    const expression = parseFor(text, purpose)
    assertKnownLists(expression, purpose)
    const wrong = wrongType(expression, purpose.gives)
    return wrong === undefined ? undefined : { message: wrong }
  } catch (error) {
    if (error instanceof ExprError)
      return { message: described(text, purpose.pointer, error), inside: placeOf(text, error) }
    throw error
  }
}

/** Columns of the language count bytes. */
function placeOf(text: string, { line, column, reason }: ExprError): PlaceInText {
  const bytes = Buffer.from(text.split('\n')[line - 1] ?? '').subarray(0, column - 1)
  return { line, offset: bytes.toString().length, reason }
}

/** Returns the issue of a text that is not parsed. */
function whollyWrong(text: string): string | undefined {
  if (text.trim() === '') return 'must not be empty'
  // Before the language reads it, because its message would contain the whole text.
  const length = text.length <= MAX_LENGTH ? text.length : characters(text)
  return length > MAX_LENGTH ? `has ${length} characters, ${MAX_LENGTH} are allowed` : undefined
}

/** Parses an expression for its place. Throws an ExprError. */
function parseFor(text: string, { phase, pointer, gives }: ExpressionPurpose): Expression | ValueExpression {
  const steps = pointer.split('/')
  const member = MEMBERS.find((name) => steps.includes(name))
  const options: ParseOptions = { ...(phase !== undefined && { phase }), ...(member !== undefined && { member }) }
  if (gives === 'filter') return parsedFilter(text, options)
  return parsedValue(text, { ...options, scheme: gives === 'key' ? KEY_SCHEME : SCHEME })
}

/** Counts characters. One outside the basic plane counts once. */
function characters(text: string): number {
  let count = 0
  for (const _character of text) count++
  return count
}

const SHOWN = 200

/**
 * Returns the language's own message, with position and carets, in the sentence that clients of the public API know.
 */
function described(text: string, pointer: string, error: ExprError): string {
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
  const member = pointer.split('/').findLast((step) => !/^\d+$/.test(step)) ?? ''
  return `'${shown}' is not a valid value for ${member} because the expression is invalid: ${error.message}`
}

/** The type of list in which values of a type are searched. */
const KIND_FOR = { Ip: 'ip', Bytes: 'hostname', Int: 'asn' } as const satisfies Record<string, ListKind>
const ITEMS = { ip: 'addresses', hostname: 'host names', asn: 'numbers of networks', redirect: 'redirects' } as const

/** Throws if an expression names a list that does not exist or is of another type. */
function assertKnownLists(
  { text, uses }: { readonly text: string; readonly uses: Uses },
  purpose: ExpressionPurpose,
): void {
  for (const { name, type, span } of uses.lists) {
    const kind = purpose.list(name)
    if (kind === undefined) throw refusalAt(text, missingList(name), span)
    if (kind === 'unknown') continue
    // For bulk redirects, true if the list has a redirect for the URL.
    const redirects = kind === 'redirect' && type === 'Bytes' && purpose.phase === 'http_request_redirect'
    if (kind !== KIND_FOR[type] && !redirects)
      throw refusalAt(text, `the list $${name} holds ${ITEMS[kind]}; ${ITEMS[KIND_FOR[type]]} are required`, span)
  }
}

/** Returns the message that a list does not exist, and what to do. */
export function missingList(name: string): string {
  return name.includes('.')
    ? `list $${name} not found: managed lists are not part of this installation`
    : `list $${name} not found; create it first, or define it under lists in the configuration`
}

function wrongType(expression: Expression | ValueExpression, gives: ExpressionPurpose['gives']): string | undefined {
  if (!('type' in expression) || gives === 'key') return undefined
  const { type } = expression
  if (gives === 'array')
    return type.name === 'Array<Bytes>' ? undefined : `must give a list of texts, gives ${type.name}`
  if (type.kind === 'Bytes' || type.kind === 'Int') return undefined
  return `must give a text or a number, gives ${type.name}${hint(type)}`
}

function hint({ kind }: Type): string {
  if (kind === 'Bool' || kind === 'Ip') return ': to_string(...) converts it to text'
  return kind === 'Array' ? ': [0] is its first element' : ': ["name"] is one of its values'
}
