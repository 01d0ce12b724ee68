import { members } from '../../http/accept.js'
import { headerValues, withHeader, withoutHeader, type RawHeaders } from '../../http/headers.js'
import type { CacheSettings } from '../../rules/decisions.js'

/** The codings that an origin or this edge may choose between. */
const CODINGS = ['br', 'deflate', 'gzip', 'zstd']

type VarySettings = NonNullable<CacheSettings['vary']>

/**
 * Returns the lower-case names in Vary, sorted. Returns undefined if the response must not be stored, because Vary is
 * `*` or a rule excludes one of the names.
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
  // Accept-Encoding is always reduced to the codings, so that different spellings share an entry.
  name === 'accept-encoding' ? 'normalize' : (settings.headers?.[name] ?? settings.default).action

/** Returns the values of these request fields as one text. Equal texts select the same stored response. */
export function varyKey(names: readonly string[], headers: RawHeaders, settings: VarySettings | undefined): string {
  let key = ''
  for (const name of names) {
    const values = headerValues(headers, name)
    key += values.length === 0 ? '\n' : `=${selector(name, values, settings)}\n`
  }
  return key
}

/** Fields whose normalized value is also sent to the origin. */
const NORMALIZED = ['accept', 'accept-language']

/** Returns the request fields as the origin gets them. A rule can normalize Accept and Accept-Language. */
export function normalizedFields(headers: RawHeaders, settings: VarySettings): RawHeaders {
  let fields = headers
  for (const name of NORMALIZED) {
    const values = headerValues(fields, name)
    if (values.length === 0 || actionFor(name, settings) !== 'normalize') continue
    const only = settings.headers?.[name]
    const ranks = ranked(values.join(','), only?.media_types ?? only?.languages, name === 'accept-language')
    fields = ranks.length === 0 ? withoutHeader(fields, name) : withHeader(fields, name, fieldOf(ranks))
  }
  return fields
}

/** Returns members of descending quality as a field. The qualities show the order only, so equal keys get equal fields. */
const fieldOf = (ranks: readonly Rank[]): string =>
  ranks
    .flatMap(({ names, isRefused }, i) => {
      const quality = isRefused ? 0 : Math.max(1, 1000 - 100 * i) / 1000
      return names.map((name) => (quality === 1 ? name : `${name};q=${quality}`))
    })
    .join(',')

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

/** Members of one quality, by name. */
interface Rank {
  readonly names: string[]
  /** Quality 0. */
  readonly isRefused: boolean
}

/** Returns a list of preferences in one spelling. Members of equal quality are joined with `,`. */
const preferences = (value: string, only: readonly string[] | undefined, withoutRegions = false): string =>
  ranked(value, only, withoutRegions)
    .map(({ names, isRefused }) => (isRefused ? '!' : '|') + names.join(','))
    .join('')

/** Returns a list of preferences in lower case, without parameters, sorted by quality and then by name. */
function ranked(value: string, only: readonly string[] | undefined, withoutRegions: boolean): readonly Rank[] {
  const weights = new Map<string, number>()
  const listed = only?.map((name) => name.toLowerCase())
  for (const member of members(value)) {
    const [given, quality] = weighted(member)
    const name = withoutRegions && !listed?.includes(given) ? given.split('-', 1)[0]! : given
    if (!listed || listed.includes(name)) weights.set(name, Math.max(quality, weights.get(name) ?? 0))
  }
  const sorted = [...weights].sort(([a, p], [b, q]) => q - p || (a < b ? -1 : 1))
  const ranks: Rank[] = []
  let last: number | undefined
  for (const [name, quality] of sorted) {
    if (quality === last) ranks.at(-1)!.names.push(name)
    else ranks.push({ names: [name], isRefused: quality === 0 })
    last = quality
  }
  return ranks
}

const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i

/** Returns the name of a member in lower case and its quality. */
function weighted(member: string): [name: string, quality: number] {
  const [name, ...parameters] = member.split(';').map((part) => part.trim())
  const weight = parameters.map((parameter) => WEIGHT.exec(parameter)?.[1]).find((found) => found !== undefined)
  return [name!.toLowerCase(), weight === undefined ? 1 : Number(weight)]
}

/** Returns whether two lists have the same names in the same order. */
export const sameNames = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((name, i) => name === b[i]))
