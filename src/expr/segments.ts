import { sortedInSteps, type Steps } from '../core/schedule/steps.js'
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

/** A range of addresses of one family, and its rule. */
interface FamilyRange<T extends Ip> {
  readonly first: T
  readonly last: T
  readonly rule: number
}

/** Cuts that are made in one step. */
const STEP_CUTS = 500

/** Ranges of one family cut into segments, each with the rules whose ranges contain it. One search finds them all. */
class Family<T extends Ip> {
  readonly #starts: T[] = []
  readonly #rules: Int32Array[] = []

  #cut(start: T, open: ReadonlyMap<number, number>): number {
    this.#starts.push(start)
    this.#rules.push(Int32Array.from(open.keys()))
    return open.size
  }

  /** Adds the ranges of a new family. Throws a RangeError if the ranges overlap too much to be listed. */
  *fill(ranges: readonly FamilyRange<T>[]): Steps<void> {
    const opens = yield* sortedInSteps(ranges, (a, b) => order(a.first, b.first))
    // The order of single addresses is the same.
    const areSingle = ranges.every(({ first, last }) => first === last)
    const closes = areSingle ? opens : yield* sortedInSteps(ranges, (a, b) => order(a.last, b.last))
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
      if (this.#starts.length % STEP_CUTS === 0) yield undefined
    }
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

function ofType<T extends Ip>(ranges: readonly RuleRange[], type: 'number' | 'string'): FamilyRange<T>[] {
  const found: FamilyRange<T>[] = []
  for (const { range, rule } of ranges)
    if (typeof range.first === type) found.push({ first: range.first as T, last: range.last as T, rule })
  return found
}

/** The ranges of many rules. */
export class Segments {
  readonly #v4 = new Family<number>()
  readonly #v6 = new Family<string>()

  /** Sets the bit of every rule with a range that contains `ip`. */
  mark(ip: Ip, bits: Int32Array): void {
    if (typeof ip === 'number') this.#v4.mark(ip, bits)
    else this.#v6.mark(ip, bits)
  }

  /** Adds the ranges of new segments. Throws a RangeError if the ranges overlap too much to be listed. */
  *fill(ranges: readonly RuleRange[]): Steps<void> {
    yield* this.#v4.fill(ofType<number>(ranges, 'number'))
    yield undefined
    yield* this.#v6.fill(ofType<string>(ranges, 'string'))
  }
}
