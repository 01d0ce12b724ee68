import { isInnerList, parseDictionary, type InnerList, type Item } from 'structured-headers'
import { headerValues, type RawHeaders } from '../../http/headers.js'

/** Maximum paths whose variance is known. */
const MAX_PATHS = 10_000
/** Longer paths and fields are not remembered, because clients and origins choose how long they are. */
const MAX_PATH = 2048
const MAX_FIELD = 2048

/** Which differences between queries do not matter for a response (No-Vary-Search). */
export interface SearchVariance {
  /** Distinguishes variances: responses of different ones do not share keys. */
  readonly text: string
  readonly isOrderFree: boolean
  /** Whether a parameter with this name matters. */
  readonly matters: (name: string) => boolean
}

/** Returns what the field of a response says. Undefined if every difference matters, or if the field is not valid. */
export function searchVariance(headers: RawHeaders): SearchVariance | undefined {
  const text = headerValues(headers, 'no-vary-search').join(', ')
  if (text === '' || text.length > MAX_FIELD) return undefined
  try {
    return varianceOf(text)
  } catch {
    return undefined
  }
}

function varianceOf(text: string): SearchVariance | undefined {
  const members = parseDictionary(text)
  const order = flag(members.get('key-order'))
  const params = members.get('params')
  const named = params && isInnerList(params) ? names(params) : undefined
  const ignoresAll = named === undefined ? flag(params) : false
  const except = members.get('except')
  if (order === 'invalid' || ignoresAll === 'invalid') return undefined
  // Exceptions are from all parameters.
  if (except !== undefined && (!ignoresAll || !isInnerList(except))) return undefined
  const kept = except && isInnerList(except) ? names(except) : new Set<string>()
  if (!order && !ignoresAll && (named === undefined || named.size === 0)) return undefined
  return {
    text: JSON.stringify([order, ignoresAll, [...(named ?? kept)].sort()]),
    isOrderFree: order,
    matters: (name) => (ignoresAll ? kept.has(name) : named?.has(name) !== true),
  }
}

/** Returns the value of a boolean member; false if it is absent. */
function flag(member: Item | InnerList | undefined): boolean | 'invalid' {
  if (member === undefined) return false
  const [value] = member
  return typeof value === 'boolean' ? value : 'invalid'
}

/** Returns the names of parameters in a list. Throws if a member is not a string. */
function names([items]: InnerList): Set<string> {
  return new Set(
    items.map(([value]) => {
      if (typeof value !== 'string') throw new TypeError('not a string')
      const [[name] = ['']] = new URLSearchParams(value)
      return name
    }),
  )
}

/** Returns the query of a target as a text that equal queries have in common. `query` is without its question mark. */
export function sharedQuery(query: string, { isOrderFree, matters }: SearchVariance): string {
  const pairs = [...new URLSearchParams(query)].filter(([name]) => matters(name))
  // Sorting is stable, because the order of the values of one name matters.
  if (isOrderFree) pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return JSON.stringify(pairs)
}

/** The variance of the last response of each path. A key is computed before the response is known. */
export class SearchVariances {
  readonly #known = new Map<string, SearchVariance>()

  get size(): number {
    return this.#known.size
  }

  find(path: string): SearchVariance | undefined {
    return this.#known.get(path)
  }

  learn(path: string, variance: SearchVariance | undefined): void {
    this.#known.delete(path)
    if (!variance || path.length > MAX_PATH) return
    this.#known.set(path, variance)
    if (this.#known.size > MAX_PATHS) this.#known.delete(this.#known.keys().next().value!)
  }
}
