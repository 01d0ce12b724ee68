import { parseIpRange, type IpRange } from './language/ip.js'
import { ipSet } from './sets.js'
import type { Value } from './language/value.js'
import { lowerAscii } from './language/wildcard.js'

/** A list that expressions name with `$name`. Its content may change while compiled expressions use it. */
export interface NamedList {
  has(value: Value): boolean
}

/** Looks up `$name`, once per position when an expression is compiled. An unknown name is an empty list. */
export interface Lists {
  get(name: string, type: 'Int' | 'Bytes' | 'Ip'): NamedList | undefined
}

/** Lists without any list. */
export const NO_LISTS: Lists = { get: () => undefined }

/** Creates a list of addresses, networks and ranges. Throws a TypeError that names the first invalid item. */
export function ipList(items: readonly string[]): NamedList {
  const ranges = items.map((item): IpRange => {
    const range = parseIpRange(item)
    if ('first' in range) return range
    throw new TypeError(`${item}: ${range.reason}`)
  })
  return { has: ipSet(ranges) }
}

/** Creates a list of host names, ignoring case; `*.example.com` matches every name below `example.com`. */
export function hostnameList(items: readonly string[]): NamedList {
  const names = new Set<string>()
  const suffixes = new Set<string>()
  for (const item of items.map(lowerAscii)) {
    if (item.startsWith('*.')) suffixes.add(item.slice(2))
    else names.add(item)
  }
  return {
    has: (value) => {
      const name = lowerAscii(value as string)
      if (names.has(name)) return true
      // A host name has at most 127 labels. A longer text is not a host name.
      if (suffixes.size === 0 || name.length > 255) return false
      for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
        if (suffixes.has(name.slice(dot + 1))) return true
      }
      return false
    },
  }
}

/** Creates a list of numbers, such as autonomous systems. */
export function intList(items: readonly number[]): NamedList {
  const numbers = new Set<Value>(items)
  return { has: (value) => numbers.has(value) }
}

/** Creates a list of byte strings, compared exactly. */
export function bytesList(items: readonly string[]): NamedList {
  const texts = new Set<Value>(items)
  return { has: (value) => texts.has(value) }
}
