/** One comparison of a filter, with a field's type, an operator without its `!`, and the value to compare with. */
import { QUOTE } from '../../src/core/bytes.js'
import type { FieldType } from './fields/dataset.js'
import { NumberText } from './filter-text.js'
import { compareDecimals, decimal, decimalAt, smallInteger, type Decimal } from './numbers.js'
import { ESCAPED } from './fields/scan.js'
import { decoded } from './fields/strings.js'
import { readInstant, type Instant } from './timestamps.js'

/** Whether the JSON text from `start` to `end` passes. */
type Test = (bytes: Uint8Array, start: number, end: number, mark: number) => boolean
type Made = { readonly test: Test } | { readonly wrong: string; readonly at?: string }

const encoder = new TextEncoder()

/** Returns the test for a comparison, or the issue of its value. `at` points inside the value. */
export function comparison(type: FieldType, operator: string, value: unknown): Made {
  if (operator !== 'in') return single(type, operator, value)
  if (!Array.isArray(value) || value.length === 0) return { wrong: 'must be a list of at least one value' }
  const tests: Test[] = []
  for (const [index, item] of value.entries()) {
    const made = single(type, 'eq', item)
    if ('wrong' in made) return { ...made, at: `/${index}` }
    tests.push(made.test)
  }
  return {
    test(bytes, start, end, mark) {
      for (const test of tests) if (test(bytes, start, end, mark)) return true
      return false
    },
  }
}

function single(type: FieldType, operator: string, value: unknown): Made {
  if (type === 'any') return undeclared(operator, value)
  if (type === 'string') return textual(operator, value)
  if (type === 'bool') return boolean(value)
  if (type === 'timestamp') return temporal(operator, value)
  if (type === 'int' || type === 'float') return numeric(operator, value)
  const item = type === 'array[int]' ? numeric('eq', value) : textual('eq', value)
  return 'wrong' in item ? item : { test: hasItem(item.test) }
}

/**
 * Returns the test for a field of no declared type. The type of the given value decides whether text, numbers or
 * booleans are compared. `contains` also compares items of a list.
 */
function undeclared(operator: string, value: unknown): Made {
  if (operator === 'contains') {
    const item = undeclared('eq', value)
    if ('wrong' in item) return item
    const inList = hasItem(item.test)
    if (typeof value !== 'string') return { test: inList }
    const inText = textual('contains', value)
    if ('wrong' in inText) return inText
    return {
      test: (bytes, start, end, mark) => inText.test(bytes, start, end, mark) || inList(bytes, start, end, mark),
    }
  }
  if (ORDERED.includes(operator)) return numeric(operator, value)
  if (typeof value === 'string') return textual(operator, value)
  if (operator !== 'eq') return { wrong: 'must be a string' }
  if (typeof value !== 'boolean') return numeric('eq', value)
  const text = encoder.encode(String(value))
  return { test: (bytes, start, end) => end - start === text.length && isAt(bytes, start, text) }
}

const ORDERED = ['lt', 'leq', 'gt', 'geq']

type TextTest = (bytes: Uint8Array, start: number, end: number, wanted: Buffer) => boolean

const TEXT_TESTS: Readonly<Record<string, TextTest>> = {
  eq: (bytes, start, end, wanted) => end - start === wanted.length && isAt(bytes, start, wanted),
  startsWith: (bytes, start, end, wanted) => end - start >= wanted.length && isAt(bytes, start, wanted),
  endsWith: (bytes, start, end, wanted) => end - start >= wanted.length && isAt(bytes, end - wanted.length, wanted),
  contains: (bytes, start, end, wanted) =>
    Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).includes(wanted),
}

function isAt(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false
  return true
}

function textual(operator: string, value: unknown): Made {
  if (typeof value !== 'string') return { wrong: 'must be a string' }
  const wanted = Buffer.from(value)
  const compare = TEXT_TESTS[operator]!
  return {
    test(bytes, start, end, mark) {
      if (bytes[start] !== QUOTE) return false
      if ((mark & ESCAPED) === 0) return compare(bytes, start + 1, end - 1, wanted)
      const text = decoded(bytes, start, end)
      return compare(text, 0, text.length, wanted)
    },
  }
}

function boolean(value: unknown): Made {
  if (typeof value !== 'boolean' && value !== 'true' && value !== 'false') return { wrong: 'must be true or false' }
  const first = String(value).charCodeAt(0)
  return { test: (bytes, start) => bytes[start] === first }
}

/** Tests of the order of a value relative to the given one, which is below 0, 0 or above 0. */
const ORDER_TESTS: Readonly<Record<string, (order: number) => boolean>> = {
  eq: (order) => order === 0,
  lt: (order) => order < 0,
  leq: (order) => order <= 0,
  gt: (order) => order > 0,
  geq: (order) => order >= 0,
}

function numberText(value: unknown): string | undefined {
  if (value instanceof NumberText) return value.text
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return typeof value === 'string' ? value : undefined
}

function numeric(operator: string, value: unknown): Made {
  // A filter given as an object has already lost the digits of such a number.
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    return { wrong: 'is too large for a number here, write it as a string' }
  const wanted = decimal(numberText(value) ?? '')
  if (wanted === undefined) return { wrong: 'must be a number' }
  const passes = ORDER_TESTS[operator]!
  return {
    test(bytes, start, end) {
      const order = numberOrder(bytes, start, end, wanted)
      return order === order && passes(order)
    },
  }
}

/** NaN if it is not a number. */
function numberOrder(bytes: Uint8Array, start: number, end: number, wanted: Decimal): number {
  const small = smallInteger(bytes, start, end)
  // NaN on either side needs the slow path.
  const order = small - wanted.small
  if (order === order) return order
  const found = decimalAt(bytes, start, end)
  return found === undefined ? NaN : compareDecimals(found, wanted)
}

function temporal(operator: string, value: unknown): Made {
  const text = value instanceof NumberText || typeof value === 'number' ? numberText(value) : JSON.stringify(value)
  const wanted = { seconds: 0, nanos: 0 }
  const bytes = encoder.encode(text ?? '')
  if (!readInstant(bytes, 0, bytes.length, wanted)) return { wrong: 'must be an integer time or RFC 3339 text' }
  const passes = ORDER_TESTS[operator]!
  const found: Instant = { seconds: 0, nanos: 0 }
  return {
    test(bytes, start, end) {
      if (!readInstant(bytes, start, end, found)) return false
      return passes(found.seconds - wanted.seconds || found.nanos - wanted.nanos)
    },
  }
}

/** Whether any item of a list passes. The list has been scanned before, so that its text is known to be well-formed. */
function hasItem(test: Test): Test {
  return (bytes, start, end) => {
    if (bytes[start] !== 0x5b) return false
    for (let at = start + 1; at < end - 1;) {
      const byte = bytes[at]!
      if (byte === 0x2c || byte <= 0x20) {
        at++
        continue
      }
      const close = itemEnd(bytes, at, end - 1)
      const mark = byte === QUOTE && bytes.subarray(at, close).includes(0x5c) ? ESCAPED : 0
      if (test(bytes, at, close, mark)) return true
      at = close
    }
    return false
  }
}

/** Where a value of well-formed JSON text ends. */
function itemEnd(bytes: Uint8Array, from: number, end: number): number {
  let depth = 0
  for (let at = from; at < end; at++) {
    const byte = bytes[at]!
    if (byte === QUOTE) at = stringEnd(bytes, at) - 1
    else if (byte === 0x5b || byte === 0x7b) depth++
    else if (byte === 0x5d || byte === 0x7d) depth--
    else if (depth === 0 && (byte === 0x2c || byte <= 0x20)) return at
  }
  return end
}

function stringEnd(bytes: Uint8Array, from: number): number {
  let at = from + 1
  while (bytes[at] !== QUOTE) at += bytes[at] === 0x5c ? 2 : 1
  return at + 1
}
