import { network, parseIp, type IpRange } from '../../expr/language/ip.js'

/** A set of addresses. */
export interface Networks {
  /** Number of ranges of addresses. */
  readonly size: number
  /** Returns whether a text is an address of the set. */
  has(address: string): boolean
}

/** Returns whether a text is an address, or a network in CIDR form. */
export const isNetwork = (text: string): boolean => rangeOf(text) !== undefined

/** Returns the set of the addresses and networks of a list. Texts that are neither are left out. */
export function networksOf(texts: readonly string[]): Networks {
  const ranges = texts.flatMap((text) => rangeOf(text) ?? [])
  const v4 = joined(ranges.filter(({ first }) => typeof first === 'number'))
  const v6 = joined(ranges.filter(({ first }) => typeof first === 'string'))
  return {
    size: v4.length + v6.length,
    has(address) {
      const ip = parseIp(address)
      if (ip === undefined) return false
      const sorted = typeof ip === 'number' ? v4 : v6
      let low = 0
      let high = sorted.length - 1
      while (low <= high) {
        const middle = (low + high) >>> 1
        const range = sorted[middle]!
        if (ip < range.first) high = middle - 1
        else if (ip > range.last) low = middle + 1
        else return true
      }
      return false
    },
  }
}

function rangeOf(text: string): IpRange | undefined {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const ip = parseIp(address)
  if (ip === undefined) return undefined
  const max = typeof ip === 'number' ? 32 : 128
  if (Number(bits ?? max) > max) return undefined
  const [first, last] = network(ip, Number(bits ?? max))
  return { first, last }
}

/** Sorts ranges of one family and joins those that overlap. */
function joined(ranges: readonly IpRange[]): IpRange[] {
  const found: { first: IpRange['first']; last: IpRange['last'] }[] = []
  for (const range of ranges.toSorted((a, b) => (a.first < b.first ? -1 : Number(a.first > b.first)))) {
    const before = found.at(-1)
    if (before === undefined || range.first > before.last) found.push({ ...range })
    else if (range.last > before.last) before.last = range.last
  }
  return found
}
