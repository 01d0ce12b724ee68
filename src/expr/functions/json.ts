import { UNLIMITED, type Budget } from '../language/budget.js'
import type { Callee, FunctionDef } from '../language/scheme.js'
import { BYTES, INT } from '../language/types.js'
import { toBytes, toText, type Bytes, type Value } from '../language/value.js'
import { bytes, oneOf } from './params.js'

const key = oneOf('Bytes or Int', (type) => type === BYTES || type === INT, 'any')

/** Strings, so that digits inside of them are not changed, and numbers. Only applied to valid JSON. */
const STRING_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g

/** Cost of parsing, in steps of the budget per byte. Includes the search for numbers. */
const PARSE_STEPS = 3
const PARSE_INTEGERS_STEPS = 8

type Parse = (document: Bytes, budget: Budget) => unknown

/**
 * Caches the last parsed document. Rules read the same document, the body of a request, repeatedly. Parsing it each
 * time would block the process for seconds with a few hundred rules.
 */
function remembered(parse: (text: string) => unknown, steps: number): Parse {
  let last: Bytes | undefined
  let value: unknown
  return (document, budget) => {
    if (document !== last) {
      budget.spend(document.length * steps)
      value = parse(toText(document))
      last = document
    }
    return value
  }
}

const parsed = remembered(parseJson, PARSE_STEPS)

const parsedIntegers = remembered((text) => {
  if (parseJson(text) === undefined) return undefined
  return parseJson(text.replace(STRING_OR_NUMBER, (found) => (/^"|^-?[0-9]+$/.test(found) ? found : 'null')))
}, PARSE_INTEGERS_STEPS)

const readString = (found: unknown) => (typeof found === 'string' ? toBytes(found) : undefined)
const readInteger = (found: unknown) => (typeof found === 'number' && Math.abs(found) < 2 ** 63 ? found : undefined)

/** Returns the string at a path of member names and positions. Missing if there is no value or one of another type. */
export const lookupJsonString: FunctionDef = {
  name: 'lookup_json_string',
  params: [bytes(), key],
  optional: [],
  rest: key,
  returns: () => BYTES,
  prepare: () => lookup(parsed, readString)(UNLIMITED),
  prepareWithin: () => lookup(parsed, readString),
}

/** Returns the integer at a path; `42.0` and `4e1` are not integers. */
export const lookupJsonInteger: FunctionDef = {
  name: 'lookup_json_integer',
  params: [bytes(), key],
  optional: [],
  rest: key,
  returns: () => INT,
  prepare: () => lookup(parsedIntegers, readInteger)(UNLIMITED),
  prepareWithin: () => lookup(parsedIntegers, readInteger),
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function lookup(parse: Parse, read: (found: unknown) => Value | undefined): (budget: Budget) => Callee {
  return (budget) =>
    (document, ...path) => {
      if (typeof document !== 'string') return undefined
      let found = parse(document, budget)
      for (const step of path) {
        if (typeof step === 'number') found = Array.isArray(found) ? (found as unknown[])[step] : undefined
        else if (typeof step === 'string' && typeof found === 'object' && found !== null && !Array.isArray(found)) {
          const name = toText(step)
          found = Object.hasOwn(found, name) ? (found as Record<string, unknown>)[name] : undefined
        } else return undefined
      }
      return read(found)
    }
}
