import { tableOf } from '../../core/extension/tables.js'
import type { FunctionDef } from '../language/scheme.js'
import { hasKey, hasValue, join, split } from './collections.js'
import { decodeBase64, encodeBase64, sha256, urlDecode, uuidv4 } from './encoding.js'
import { lookupJsonInteger, lookupJsonString } from './json.js'
import { bitSlice, cidr, cidr6 } from './network.js'
import { pluginFunction } from './plugin.js'
import { regexReplace, removeQueryArgs, wildcardReplace } from './replace.js'
import { concat, endsWith, len, lower, removeBytes, startsWith, substring, toStringFunction, upper } from './text.js'
import { isJwtPresent, isJwtValid, isTimedHmacValidV0 } from './tokens.js'

const OWN: readonly FunctionDef[] = [
  bitSlice,
  cidr,
  cidr6,
  concat,
  decodeBase64,
  encodeBase64,
  endsWith,
  hasKey,
  hasValue,
  isJwtPresent,
  isJwtValid,
  isTimedHmacValidV0,
  join,
  len,
  lookupJsonInteger,
  lookupJsonString,
  lower,
  regexReplace,
  removeBytes,
  removeQueryArgs,
  sha256,
  split,
  startsWith,
  substring,
  toStringFunction,
  upper,
  urlDecode,
  uuidv4,
  wildcardReplace,
]

/** All functions of the language; `any` and `all` are operators of the grammar. */
export const FUNCTIONS: readonly FunctionDef[] = tableOf('function', {
  own: OWN,
  key: ({ name }) => name,
  complete: pluginFunction,
})
