import type { ErrorObject } from 'ajv/dist/2020.js'

/** Names of JSON types in sentences. */
const TYPES: Readonly<Record<string, string>> = {
  array: 'an array',
  object: 'an object',
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  null: 'null',
}

/** Returns `an object or null`. */
export const typeNames = (types: readonly string[]): string => types.map((type) => TYPES[type] ?? type).join(' or ')

const typeOf = (value: unknown): string =>
  typeof value === 'boolean'
    ? String(value)
    : typeNames([value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value])

/** Length as JSON Schema counts it. */
const codePoints = (value: unknown): number => Array.from(String(value)).length

/** Limits on sizes, with the words before and after the number, and the size of the value. */
const SIZES: Readonly<Record<string, readonly [before: string, after: string, size: (value: unknown) => number]>> = {
  minLength: ['must be at least', ' characters long', codePoints],
  maxLength: ['must be at most', ' characters long', codePoints],
  minItems: ['must have at least', ' items', (value) => (value as unknown[]).length],
  maxItems: ['must have at most', ' items', (value) => (value as unknown[]).length],
  minProperties: ['must have at least', ' members', (value) => Object.keys(value as object).length],
  maxProperties: ['must have at most', ' members', (value) => Object.keys(value as object).length],
}
const BOUNDS: Readonly<Record<string, string>> = {
  minimum: 'at least',
  maximum: 'at most',
  exclusiveMinimum: 'more than',
  exclusiveMaximum: 'less than',
}

/**
 * Returns a message with the broken limit and the value found. Texts are never repeated, because they can be secrets.
 */
export function keywordMessage({ keyword, params, data, message }: ErrorObject): string {
  if (keyword === 'type') {
    const types = params['type'] as string | readonly string[]
    const wanted = typeNames(typeof types === 'string' ? types.split(',') : types)
    return `must be ${wanted}, but is ${typeof data === 'number' ? data : typeOf(data)}`
  }
  const limit = params['limit'] as number
  const size = SIZES[keyword]
  if (size) {
    const [before, after, measure] = size
    const one = limit === 1 ? after.replace(/s( long)?$/, '$1') : after
    return `${before} ${limit}${one}, but has ${measure(data)}`
  }
  const bound = BOUNDS[keyword]
  if (bound !== undefined) return `must be ${bound} ${limit}, but is ${String(data)}`
  return message ?? 'is not valid'
}
