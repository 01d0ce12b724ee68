import { UNLIMITED, type Budget } from '../language/budget.js'
import { TRANSFORM_PHASES } from '../fields/info.js'
import type { Callee, FunctionDef } from '../language/scheme.js'
import { arrayOf, BOOL, BYTES, type Type } from '../language/types.js'
import type { Value } from '../language/value.js'
import { bytes, int, of, oneOf } from './params.js'

/** Splits at separators into at most `limit` parts. The last part contains the rest. */
export const split: FunctionDef = {
  name: 'split',
  params: [
    bytes(),
    bytes('literal', ({ literal }) => (literal === '' ? 'the separator must not be empty' : undefined)),
    int('literal', 1, 128),
  ],
  optional: [],
  // The reference names the first two. An expression of set_cache_tags has no other source for its list.
  phases: ['http_response_headers_transform', 'http_custom_errors', 'http_response_cache_settings'],
  returns: () => arrayOf(BYTES),
  prepare: () => (text, separator, limit) => {
    if (typeof text !== 'string' || typeof separator !== 'string' || typeof limit !== 'number') return undefined
    const parts: string[] = []
    let at = 0
    while (parts.length < limit - 1) {
      const next = text.indexOf(separator, at)
      if (next === -1) break
      parts.push(text.slice(at, next))
      at = next + separator.length
    }
    parts.push(text.slice(at))
    return parts
  },
}

export const join: FunctionDef = {
  name: 'join',
  params: [of(arrayOf(BYTES)), bytes('any')],
  optional: [],
  phases: [...TRANSFORM_PHASES, 'http_request_firewall_custom', 'http_custom_errors'],
  returns: () => BYTES,
  prepare: () => joining(UNLIMITED),
  prepareWithin: () => joining,
}

/** Charges each byte of the result, which contains the separator once per item. */
const joining =
  (budget: Budget): Callee =>
  (items, separator) => {
    if (!Array.isArray(items) || typeof separator !== 'string') return undefined
    budget.spend((items as readonly string[]).reduce((sum, item) => sum + item.length + separator.length, 0))
    return items.join(separator)
  }

export const hasKey: FunctionDef = {
  name: 'has_key',
  params: [oneOf('Map<_>', (type) => type.kind === 'Map'), bytes('any')],
  optional: [],
  returns: () => BOOL,
  prepare: () => (map, key) => (map instanceof Map && key !== undefined ? map.has(key) : undefined),
}

const isPrimitive = (type: Type | undefined) => type !== undefined && type.of === undefined

export const hasValue: FunctionDef = {
  name: 'has_value',
  params: [
    oneOf('Map<_> or Array<_> of single values', (type) => isPrimitive(type.of)),
    oneOf('the type of the values', (type, first) => type === first?.of, 'any'),
  ],
  optional: [],
  returns: () => BOOL,
  prepare: () => (values, wanted) => {
    if (values === undefined || wanted === undefined) return undefined
    if (Array.isArray(values)) return values.includes(wanted)
    for (const value of (values as ReadonlyMap<string, Value>).values()) if (value === wanted) return true
    return false
  },
}
