import type { IpRange } from './language/ip.js'
import type { Ip } from './language/value.js'
import { setBits } from './text-automaton.js'

/** Maximum number of entries in the lists of all segments. Rules beyond it are always evaluated. */
const MAX_ENTRIES = 1_000_000

/** One range and its rule. */
export interface RuleRange {
  readonly range: IpRange
  readonly rule: number
}

/** Ranges of one family cut into segments, each with the rules whose ranges contain it. One search finds them all. */
class Family<T extends Ip> {
  readonly #starts: T[] = []
  readonly #rules: Int32Array[] = []

  /** Throws a RangeError if the ranges overlap too much to be listed. */
  constructor(ranges: readonly { first: T; last: T; rule: number }[]) {
    const opens = [...ranges].sort((a, b) => order(a.first, b.first))
    const closes = [...ranges].sort((a, b) => order(a.last, b.last))
    const open = new Map<number, number>()
    const count = (rule: number, by: number) => {
      const now = (open.get(rule) ?? 0) + by
      if (now === 0) open.delete(rule)
      else open.set(rule, now)
    }
    let entries = 0
    for (let i = 0, j = 0; j < closes.length;) {
      const opening = opens[i]
      const closing = closes[j] as { last: T; rule: number }
      // A range ends after its last address, and a range that begins there is already open.
      if (opening !== undefined && opening.first <= closing.last) {
        const { first } = opening
        for (; i < opens.length && opens[i]?.first === first; i++) count(opens[i]?.rule as number, 1)
        entries += this.#cut(first, open)
      } else {
        const { last } = closing
        for (; j < closes.length && closes[j]?.last === last; j++) count(closes[j]?.rule as number, -1)
        const next = after(last)
        if (next !== undefined && opening?.first !== next) entries += this.#cut(next, open)
      }
      if (entries > MAX_ENTRIES) throw new RangeError('ranges overlap too much')
    }
  }

  #cut(start: T, open: ReadonlyMap<number, number>): number {
    this.#starts.push(start)
    this.#rules.push(Int32Array.from(open.keys()))
    return open.size
  }

  mark(ip: T, bits: Int32Array): void {
    const starts = this.#starts
    let low = 0
    let high = starts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((starts[middle] as T) <= ip) low = middle + 1
      else high = middle
    }
    if (low > 0) setBits(bits, this.#rules[low - 1] as Int32Array)
  }
}

const order = (a: Ip, b: Ip): number => (a < b ? -1 : a > b ? 1 : 0)

/** Returns the next address, or undefined after the last one. */
function after<T extends Ip>(ip: T): T | undefined {
  if (typeof ip === 'number') return (ip === 0xffff_ffff ? undefined : ip + 1) as T | undefined
  const bytes = Array.from({ length: 16 }, (_, at) => ip.charCodeAt(at))
  for (let at = 15; at >= 0; at--) {
    const byte = (bytes[at] as number) + 1
    bytes[at] = byte & 255
    if (byte < 256) return String.fromCharCode(...bytes) as T
  }
  return undefined
}

/** The ranges of many rules. */
export class Segments {
  readonly #v4: Family<number>
  readonly #v6: Family<string>

  /** Throws a RangeError if the ranges overlap too much to be listed. */
  constructor(ranges: readonly RuleRange[]) {
    const of = <T extends Ip>(type: 'number' | 'string') =>
      ranges.flatMap(({ range: { first, last }, rule }) =>
        typeof first === type ? [{ first: first as T, last: last as T, rule }] : [],
      )
    this.#v4 = new Family(of<number>('number'))
    this.#v6 = new Family(of<string>('string'))
  }

  /** Sets the bit of every rule with a range that contains `ip`. */
  mark(ip: Ip, bits: Int32Array): void {
    if (typeof ip === 'number') this.#v4.mark(ip, bits)
    else this.#v6.mark(ip, bits)
  }
}
