import { parseDictionary, Token, type Dictionary } from 'structured-headers'
import { members } from '../../../http/accept.js'

/** Cache directives of a response by lower-case name. The value is undefined without an argument. */
export type Directives = ReadonlyMap<string, string | undefined>

/** Lifetimes are limited to this many seconds, as in RFC 9111, 1.2.2. */
const MAX_SECONDS = 2 ** 31

/** Parses Cache-Control (RFC 9111, 5.2). Of a repeated directive the shortest lifetime, else the first value counts. */
export function cacheControl(values: readonly string[]): Directives {
  const found = new Map<string, string | undefined>()
  for (const value of values)
    for (const member of members(value)) {
      const equals = member.indexOf('=')
      const name = (equals < 0 ? member : member.slice(0, equals)).toLowerCase()
      // RFC 9111 has no white space around "=". Such a lifetime is present and invalid.
      const argument = equals < 0 ? undefined : unquoted(member.slice(equals + 1))
      const key = name.trimEnd()
      if (!found.has(key)) found.set(key, name === key ? argument : '')
      else if (SECONDS.has(key) && seconds(argument) < seconds(found.get(key))) found.set(key, argument)
    }
  return found
}

const unquoted = (text: string): string =>
  text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).replaceAll(/\\(.)/g, '$1') : text

const SECONDS = new Set(['max-age', 's-maxage', 'stale-while-revalidate', 'stale-if-error'])

/** Returns a number of seconds; 0 if it is not valid, so that the response is stale (RFC 9111, 4.2.1). */
export const seconds = (text: string | undefined): number =>
  text !== undefined && /^\d+$/.test(text) ? Math.min(Number(text), MAX_SECONDS) : 0

/** A lifetime with a fraction. The parser returns the same number for `60.0` and for `60`. */
const DECIMAL_LIFETIME = new RegExp(`(?:^|[,\\s])(?:${[...SECONDS].join('|')})=\\d+\\.`)
const STRING = /"(?:[^"\\]|\\.)*"/g

/**
 * Parses a targeted field such as CDN-Cache-Control as a dictionary of RFC 9651 (RFC 9213, 2.1). Returns undefined if
 * it is not one, if it is empty or if a known directive has a value of another type. The field must be ignored then.
 */
export function targetedCacheControl(values: readonly string[]): Directives | undefined {
  const text = values.join(', ')
  const members = dictionaryOf(text)
  if (members === undefined || DECIMAL_LIFETIME.test(text.replaceAll(STRING, ''))) return undefined
  const found = new Map<string, string | undefined>()
  for (const [key, [value]] of members) {
    if (SECONDS.has(key) && !(typeof value === 'number' && value >= 0)) return undefined
    // A directive that is set to false is absent.
    if (value !== false) found.set(key, argumentOf(value))
  }
  return found.size > 0 ? found : undefined
}

function dictionaryOf(text: string): Dictionary | undefined {
  try {
    return parseDictionary(text)
  } catch {
    return undefined
  }
}

/** Returns the text of a value. No directive has an argument of another type than these. */
const argumentOf = (value: unknown): string | undefined =>
  typeof value === 'number' || typeof value === 'string' || value instanceof Token ? String(value) : undefined
