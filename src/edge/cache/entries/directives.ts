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

const KEY = /[a-z*][a-z0-9_.*-]*/y
const ITEM =
  /(?:(-?\d{1,15}(?:\.\d{1,3})?)|"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"|([A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*)|:([A-Za-z0-9+/=]*):|\?([01]))/y
const PARAMETER =
  /;[ ]*[a-z*][a-z0-9_.*-]*(?:=(?:-?\d{1,15}(?:\.\d{1,3})?|"(?:[^"\\]|\\.)*"|[A-Za-z*][^\s;,]*|\?[01]))?/y
const COMMA = /[ \t]*,[ \t]*/y

/**
 * Parses a targeted field such as CDN-Cache-Control as a dictionary of RFC 8941 (RFC 9213, 2.1). Returns undefined if
 * it is not one, if it is empty or if a known directive has a value of another type. The field must be ignored then.
 */
export function targetedCacheControl(values: readonly string[]): Directives | undefined {
  const text = values.join(', ').trim()
  const found = new Map<string, string | undefined>()
  let at = 0
  const next = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match) at = pattern.lastIndex
    return match
  }
  while (at < text.length) {
    const key = next(KEY)?.[0]
    if (key === undefined) return undefined
    let value: string | undefined
    if (text[at] === '=') {
      at++
      const item = next(ITEM)
      if (!item) return undefined
      const [, number, string, token, bytes, flag] = item
      if (SECONDS.has(key) && !/^\d+$/.test(number ?? '')) return undefined
      value = number ?? string?.replaceAll(/\\(.)/g, '$1') ?? token ?? bytes
      if (flag === '0') {
        found.delete(key)
        value = OFF
      }
    } else if (SECONDS.has(key)) return undefined
    while (next(PARAMETER)) continue
    if (value === OFF) found.delete(key)
    else found.set(key, value)
    if (at < text.length && (!next(COMMA) || at === text.length)) return undefined
  }
  return found.size > 0 ? found : undefined
}

/** A directive that is set to false is absent. */
const OFF = '\0'
