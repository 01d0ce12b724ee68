import { members } from '../../http/accept.js'
import { headerValues, type RawHeaders } from '../../http/headers.js'
import type { CacheSettings } from '../../rules/types.js'

/** The codings that an origin or this edge may choose between. */
const CODINGS = ['br', 'deflate', 'gzip', 'zstd']

type VarySettings = NonNullable<CacheSettings['vary']>

/**
 * Returns the lower-case names in Vary, sorted; undefined if the response must not be stored: `*`, or a rule excludes
 * one of them.
 */
export function varyNames(headers: RawHeaders, settings: VarySettings | undefined): readonly string[] | undefined {
  const names = new Set<string>()
  for (const value of headerValues(headers, 'vary')) for (const name of members(value)) names.add(name.toLowerCase())
  if (names.size === 0) return NONE
  if (names.has('*')) return undefined
  if (settings && [...names].some((name) => actionFor(name, settings) === 'bypass')) return undefined
  return [...names].sort()
}

const NONE: readonly string[] = []

const actionFor = (name: string, settings: VarySettings): 'bypass' | 'passthrough' | 'normalize' =>
  // Accept-Encoding is always reduced to the codings, so that no spelling of it gets an entry of its own.
  name === 'accept-encoding' ? 'normalize' : (settings.headers?.[name] ?? settings.default).action

/** Returns the values of these request fields as one text: equal texts select the same stored response. */
export function varyKey(names: readonly string[], headers: RawHeaders, settings: VarySettings | undefined): string {
  let key = ''
  for (const name of names) {
    const values = headerValues(headers, name)
    key += values.length === 0 ? '\n' : `=${selector(name, values, settings)}\n`
  }
  return key
}

function selector(name: string, values: readonly string[], settings: VarySettings | undefined): string {
  const all = values.join(',')
  if (name === 'accept-encoding') return codings(all)
  const chosen = settings?.headers?.[name]
  const action = settings ? actionFor(name, settings) : undefined
  if (action === 'passthrough') return values.join(', ')
  if (name === 'accept') return preferences(all, chosen?.media_types)
  if (name === 'accept-language') return preferences(all, chosen?.languages, settings !== undefined)
  if (action === 'normalize') return preferences(all, undefined)
  return [...members(all)].join(',')
}

/** Returns the codings that the client accepts. */
function codings(value: string): string {
  const weights = new Map<string, number>()
  for (const member of members(value)) {
    const [name, quality] = weighted(member)
    weights.set(name === 'x-gzip' ? 'gzip' : name, quality)
  }
  const rest = weights.get('*') ?? 0
  return CODINGS.filter((name) => (weights.get(name) ?? rest) > 0).join(',')
}

/**
 * Returns a list of preferences in one spelling: lower case, without parameters, sorted by quality and then by name.
 * Members of equal quality are joined with `,`, others with `|`; those with quality 0 come last, after `!`.
 */
function preferences(value: string, only: readonly string[] | undefined, withoutRegions = false): string {
  const weights = new Map<string, number>()
  const listed = only?.map((name) => name.toLowerCase())
  for (const member of members(value)) {
    const [given, quality] = weighted(member)
    const name = withoutRegions && !listed?.includes(given) ? given.split('-', 1)[0]! : given
    if (!listed || listed.includes(name)) weights.set(name, Math.max(quality, weights.get(name) ?? 0))
  }
  const sorted = [...weights].sort(([a, p], [b, q]) => q - p || (a < b ? -1 : 1))
  let text = ''
  let last: number | undefined
  for (const [name, quality] of sorted) {
    text += last === undefined ? '' : quality === last ? ',' : quality === 0 ? '!' : '|'
    if (last === undefined && quality === 0) text += '!'
    text += name
    last = quality
  }
  return text
}

const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i

/** Returns the name of a member in lower case and its quality. */
function weighted(member: string): [name: string, quality: number] {
  const [name, ...parameters] = member.split(';').map((part) => part.trim())
  const weight = parameters.map((parameter) => WEIGHT.exec(parameter)?.[1]).find((found) => found !== undefined)
  return [name!.toLowerCase(), weight === undefined ? 1 : Number(weight)]
}
