import {
  isInnerList,
  parseDictionary,
  serializeInnerList,
  serializeItem,
  type Dictionary,
  type InnerList,
  type Item,
  type Parameters,
} from 'structured-headers'

/** A request as it arrived, before anything changed it. */
export interface SignedMessage {
  readonly method: string
  readonly scheme: 'http' | 'https'
  /** The value of Host, as the client sent it. */
  readonly authority: string
  /** Path and query, as the client sent them. */
  readonly target: string
  /** Names and values of the header fields in turn. */
  readonly fields: readonly string[]
}

/** Maximum length of a field of a signature. */
const MAX_FIELD = 16_384

/** The component cannot be part of a signature base: it is unknown, missing, or not allowed here. */
export class BadComponent extends Error {
  override readonly name = 'BadComponent'
}

/** Returns the value of a field: all its lines, trimmed and joined (RFC 9421, 2.1). Undefined without the field. */
export function fieldValue(fields: readonly string[], name: string): string | undefined {
  let value: string | undefined
  for (let at = 0; at + 1 < fields.length; at += 2) {
    if (fields[at]!.length !== name.length || fields[at]!.toLowerCase() !== name) continue
    const line = fields[at + 1]!.trim()
    value = value === undefined ? line : `${value}, ${line}`
  }
  return value
}

/** Fields that were parsed last, because a signer uses one signature for a page and its files. */
const PARSED = new Map<string, Dictionary | undefined>()
const MAX_PARSED = 1024
/** Longer fields are parsed each time. */
const MAX_PARSED_FIELD = 1024

/** Returns the dictionary of a field (RFC 9651, 3.2), or undefined if it is malformed or too long. Nobody may change it. */
export function dictionaryOf(value: string): Dictionary | undefined {
  if (value.length > MAX_PARSED_FIELD) return parsed(value)
  const known = PARSED.get(value)
  if (known !== undefined || PARSED.has(value)) return known
  if (PARSED.size >= MAX_PARSED) PARSED.delete(PARSED.keys().next().value!)
  const dictionary = parsed(value)
  PARSED.set(value, dictionary)
  return dictionary
}

function parsed(value: string): Dictionary | undefined {
  if (value.length > MAX_FIELD) return undefined
  try {
    return parseDictionary(value)
  } catch {
    return undefined
  }
}

/** Returns the signature base of a list of components (RFC 9421, 2.5). Throws {@link BadComponent}. */
export function signatureBase(message: SignedMessage, list: InnerList): string {
  const [components, parameters] = list
  const seen = new Set<string>()
  let base = ''
  for (const component of components) {
    const identifier = serializeItem(component)
    if (seen.has(identifier)) throw new BadComponent(`${identifier} is there twice`)
    seen.add(identifier)
    base += `${identifier}: ${componentValue(message, component)}\n`
  }
  return `${base}"@signature-params": ${serializeInnerList([components, parameters])}`
}

function componentValue(message: SignedMessage, [name, parameters]: Item): string {
  if (typeof name !== 'string') throw new BadComponent('a component is not a String')
  if (name.startsWith('@')) {
    const only = name === '@query-param' ? 'name' : undefined
    for (const key of parameters.keys()) if (key !== only) throw new BadComponent(`${name} has the parameter ${key}`)
    return derivedValue(message, name, parameters)
  }
  // The other parameters are for responses, or change how the field is read: `req`, `tr`, `bs`, `sf`.
  for (const key of parameters.keys()) if (key !== 'key') throw new BadComponent(`${name} has the parameter ${key}`)
  if (name !== name.toLowerCase()) throw new BadComponent(`${name} is not in lower case`)
  const value = fieldValue(message.fields, name)
  if (value === undefined) throw new BadComponent(`the request has no ${name}`)
  const key = parameters.get('key')
  return key === undefined ? value : memberValue(name, value, key)
}

function memberValue(name: string, value: string, key: unknown): string {
  const member = typeof key === 'string' ? dictionaryOf(value)?.get(key) : undefined
  if (member === undefined) throw new BadComponent(`${name} has no such member`)
  return isInnerList(member) ? serializeInnerList(member) : serializeItem(member)
}

/** Values of derived components (RFC 9421, 2.2). */
const DERIVED: Readonly<Record<string, (message: SignedMessage) => string>> = {
  '@method': ({ method }) => method,
  '@scheme': ({ scheme }) => scheme,
  '@authority': authorityOf,
  '@target-uri': (message) => `${message.scheme}://${authorityOf(message)}${message.target}`,
  '@request-target': ({ target }) => target,
  '@path': ({ target }) => target.split('?', 1)[0] || '/',
  '@query': ({ target }) => queryOf(target),
}

function derivedValue(message: SignedMessage, name: string, parameters: Parameters): string {
  if (name === '@query-param') return queryParam(message.target, parameters.get('name'))
  const read = Object.hasOwn(DERIVED, name) ? DERIVED[name] : undefined
  if (read === undefined) throw new BadComponent(`${name} is not a component of requests`)
  return read(message)
}

const DEFAULT_PORT = { http: /:80$/, https: /:443$/ }

function authorityOf({ authority, scheme }: SignedMessage): string {
  return authority.toLowerCase().replace(DEFAULT_PORT[scheme], '')
}

function queryOf(target: string): string {
  const mark = target.indexOf('?')
  return mark === -1 ? '?' : target.slice(mark)
}

/** RFC 9421, 2.2.8: a name that is there several times must not be covered. */
function queryParam(target: string, name: unknown): string {
  const found = [...new URLSearchParams(queryOf(target))].flatMap(([key, value]) =>
    percentEncoded(key) === name ? [value] : [],
  )
  if (found.length !== 1) throw new BadComponent('the query has no such parameter, or several')
  return percentEncoded(found[0]!)
}

/** Encodes as forms do, but with `%20` for a blank. */
const percentEncoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

/** Returns the bytes of an item that is a byte sequence. */
export function bytesOf(item: Item | InnerList | undefined): Buffer | undefined {
  const value = item && !isInnerList(item) ? item[0] : undefined
  return value instanceof ArrayBuffer ? Buffer.from(value) : undefined
}
