import { Type, type TProperties } from 'typebox'
import type { Issue } from '../../core/errors.js'
import { strict } from '../../core/schema.js'
import { headerValues, type RawHeaders } from '../../http/headers.js'

/** An identifier of a ruleset or rule. */
export const HexId = (description: string) =>
  Type.String({ pattern: '^[0-9a-f]{32}$', description, 'x-message': 'must be 32 digits of 0-9 and a-f' })

/** An expression of the rules language. Its length and meaning are checked when its phase is known. */
export const Expression = (description: string) => Type.String({ minLength: 1, description })

/** A whole number within 32 bits. */
export const Whole = (minimum: number, description: string, maximum = 2 ** 31 - 1) =>
  Type.Integer({ minimum, maximum, description })

export const Flag = (description: string) => Type.Optional(Type.Boolean({ description }))

/** An object with at least one member. */
export const NotEmpty = <P extends TProperties>(members: P) =>
  Type.Object(members, { ...strict, minProperties: 1, 'x-message': 'must be an object with at least one member' })

/** A list with at least one text. */
export const Texts = (description: string, maxItems = 1000) =>
  Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems, description })

/** A value for a header field, without control characters (RFC 9110, 5.5). */
export const HeaderValue = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 4096,
    pattern: '^[^\\u0000-\\u0008\\u000a-\\u001f\\u007f]*$',
    description,
    'x-message': 'must be a header value: 1 to 4,096 characters, none of them a control character',
  })

/** Cost of changing a list in a header field, in steps of the budget per byte. */
export const LIST_STEPS = 16

/** Returns the length of all values of a field (lower-case name). */
export const listLength = (headers: RawHeaders = [], name: string): number =>
  headerValues(headers, name).reduce((sum, value) => sum + value.length, 0)

type Members = Readonly<Record<string, unknown>>

/**
 * Reports unless exactly one of two members is present. A missing member is reported at the first name, a surplus
 * member at the second.
 */
export function oneOfTwo(at: string, members: Members, first: string, second: string): Issue[] {
  const [hasFirst, hasSecond] = [members[first] !== undefined, members[second] !== undefined]
  if (hasFirst !== hasSecond) return []
  return hasFirst
    ? [{ pointer: `${at}/${second}`, message: `cannot be combined with ${first}` }]
    : [{ pointer: `${at}/${first}`, message: `is required, or ${second} instead` }]
}

/** Reports `others` that are present together with `name`. */
export function excludes(members: Members, name: string, others: readonly string[]): Issue[] {
  if (members[name] === undefined) return []
  const met = others.filter((other) => members[other] !== undefined)
  return met.length === 0 ? [] : [{ pointer: `/${name}`, message: `cannot be combined with ${met.join(' and ')}` }]
}

/** Returns one issue for each item with the same `key` as an earlier item. */
export function repeats(at: string, items: readonly unknown[], key: (item: never) => string, name = ''): Issue[] {
  const seen = new Set<string>()
  return items.flatMap((item, index) => {
    const value = key(item as never)
    if (!seen.has(value)) {
      seen.add(value)
      return []
    }
    return [{ pointer: `${at}/${index}${name && `/${name}`}`, message: `${JSON.stringify(value)} is given twice` }]
  })
}
