import { BUFFER_STEPS } from '../language/budget.js'
import { formatIp } from '../language/ip.js'
import { TRANSFORM_PHASES } from '../fields/info.js'
import type { FunctionDef } from '../language/scheme.js'
import { BOOL, BYTES, INT, IP } from '../language/types.js'
import type { Value } from '../language/value.js'
import { lowerAscii, upperAscii } from '../language/wildcard.js'
import { bytes, int, oneOf } from './params.js'

/** Converts A-Z to a-z. Other bytes are unchanged. */
export const lower: FunctionDef = {
  name: 'lower',
  callSteps: BUFFER_STEPS,
  params: [bytes()],
  optional: [],
  returns: () => BYTES,
  prepare: () => (text) => (typeof text === 'string' ? lowerAscii(text) : undefined),
}

/** Converts a-z to A-Z. Other bytes are unchanged. */
export const upper: FunctionDef = {
  name: 'upper',
  callSteps: BUFFER_STEPS,
  params: [bytes()],
  optional: [],
  returns: () => BYTES,
  prepare: () => (text) => (typeof text === 'string' ? upperAscii(text) : undefined),
}

/** Returns the number of bytes of a text, or of members of an array or a map. */
export const len: FunctionDef = {
  name: 'len',
  params: [oneOf('Bytes, Array<_> or Map<_>', (type) => type === BYTES || type.of !== undefined)],
  optional: [],
  returns: () => INT,
  prepare: () => (value) => {
    if (typeof value === 'string') return value.length
    if (Array.isArray(value)) return value.length
    return value instanceof Map ? value.size : undefined
  },
}

export const startsWith: FunctionDef = {
  name: 'starts_with',
  params: [bytes(), bytes('any')],
  optional: [],
  returns: () => BOOL,
  prepare: () => (text, start) =>
    typeof text === 'string' && typeof start === 'string' ? text.startsWith(start) : undefined,
}

export const endsWith: FunctionDef = {
  name: 'ends_with',
  params: [bytes(), bytes('any')],
  optional: [],
  returns: () => BOOL,
  prepare: () => (text, end) => (typeof text === 'string' && typeof end === 'string' ? text.endsWith(end) : undefined),
}

/** Returns the bytes from `start` to before `end`. Negative numbers count from the end of the text. */
export const substring: FunctionDef = {
  name: 'substring',
  params: [bytes(), int()],
  optional: [int()],
  returns: () => BYTES,
  prepare: (args) => (text, start, end) => {
    if (typeof text !== 'string' || typeof start !== 'number') return undefined
    if (args.length < 3) return text.slice(start)
    return typeof end === 'number' ? text.slice(start, end) : undefined
  },
}

/** Joins texts or arrays. Missing ones are omitted. The result is missing if all are missing. */
export const concat: FunctionDef = {
  name: 'concat',
  callSteps: 48,
  params: [
    oneOf('Bytes or Array<_>', (type) => type === BYTES || type.kind === 'Array', 'any'),
    oneOf('the type of the first argument', (type, first) => type === first, 'any'),
  ],
  optional: [],
  rest: oneOf('the type of the first argument', (type, first) => type === first, 'any'),
  returns: (first) => first,
  prepare:
    ([first]) =>
    (...parts) => {
      const present = parts.filter((part) => part !== undefined)
      if (present.length === 0) return undefined
      return first?.type === BYTES
        ? (present as string[]).join('')
        : ([] as Value[]).concat(...(present as (readonly Value[])[]))
    },
}

/** Removes all of the listed bytes. */
export const removeBytes: FunctionDef = {
  name: 'remove_bytes',
  callSteps: BUFFER_STEPS,
  params: [bytes(), bytes('any')],
  optional: [],
  returns: () => BYTES,
  prepare: () => (text, unwanted) => {
    if (typeof text !== 'string' || typeof unwanted !== 'string') return undefined
    const drop = new Uint8Array(256)
    for (let at = 0; at < unwanted.length; at++) drop[unwanted.charCodeAt(at)] = 1
    // A text built character by character takes far more memory and time than the bytes of a body.
    const bytes = Buffer.from(text, 'latin1')
    let kept = 0
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] as number
      if (drop[byte] === 0) bytes[kept++] = byte
    }
    return bytes.toString('latin1', 0, kept)
  },
}

/** Converts a number, a Bool or an address to text. */
export const toStringFunction: FunctionDef = {
  name: 'to_string',
  params: [oneOf('Int, Bool or Ip', (type) => type === INT || type === BOOL || type === IP)],
  optional: [],
  phases: [...TRANSFORM_PHASES, 'http_request_dynamic_redirect(target_url)'],
  valueOnly: true,
  returns: () => BYTES,
  prepare: ([arg]) =>
    arg?.type === IP
      ? (value) => (value === undefined ? undefined : formatIp(value as string | number))
      : (value) => (typeof value === 'number' || typeof value === 'boolean' ? `${value}` : undefined),
}
