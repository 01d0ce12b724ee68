import { alt, concat, type Hir } from './hir.js'
import { intersect, ranges, type Ranges } from './ranges.js'

/** Returns the UTF-8 bytes of one code point. */
export function encode(point: number): number[] {
  return [...Buffer.from(String.fromCodePoint(point), 'utf8')]
}

/**
 * The code points of two, three and four bytes (surrogates have no form), the mark of the lead byte, the bits after it.
 */
const LONGER: readonly (readonly [points: Ranges, mark: number, bits: number])[] = [
  [[0x80, 0x7ff], 0xc0, 6],
  [[0x800, 0xd7ff, 0xe000, 0xffff], 0xe0, 12],
  [[0x10000, 0x10ffff], 0xf0, 18],
]

/** Results for recent sets. The same few sets are used repeatedly. */
const latest = new Map<string, Hir>()
/** The same by identity, because the sets of names are shared and have hundreds of ranges. */
const shared = new WeakMap<Ranges, Hir>()
const MAX_LATEST = 64

/** Returns a pattern of bytes for exactly the UTF-8 forms of a set of code points. */
export function utf8(set: Ranges): Hir {
  const known = shared.get(set)
  if (known !== undefined) return known
  const key = set.join()
  const hir = latest.get(key) ?? formsOf(set)
  if (latest.size >= MAX_LATEST) latest.clear()
  latest.set(key, hir)
  shared.set(set, hir)
  return hir
}

/** Returns whether {@link utf8} has the result of this set. */
export const hasUtf8 = (set: Ranges): boolean => shared.has(set)

function formsOf(set: Ranges): Hir {
  const ascii = intersect(set, [0, 0x7f])
  const branches: Hir[] = ascii.length === 0 ? [] : [{ kind: 'class', set: ascii }]
  for (const [points, mark, bits] of LONGER) branches.push(...forms(intersect(set, points), mark, bits))
  return branches.length === 0 ? { kind: 'class', set: [] } : alt(branches)
}

/**
 * Returns one branch per group of lead bytes from `mark` that have the same continuation bytes, which contain the
 * lowest `bits`.
 */
function forms(set: Ranges, mark: number, bits: number): Hir[] {
  if (bits === 0) return set.length === 0 ? [] : [{ kind: 'class', set: set.map((low) => mark | low) }]
  const groups = new Map<string, { leads: number[]; rest: Ranges }>()
  const add = (first: number, last: number, rest: Ranges) => {
    const key = rest.join()
    const known = groups.get(key)
    if (known === undefined) groups.set(key, { leads: [mark | first, mark | last], rest })
    else known.leads.push(mark | first, mark | last)
  }
  const low = 2 ** bits - 1
  let lead = -1
  let rest: number[] = []
  const put = (next: number, first: number, last: number) => {
    if (next !== lead && rest.length > 0) add(lead, lead, rest)
    if (next !== lead) rest = []
    lead = next
    rest.push(first, last)
  }
  for (let at = 0; at < set.length; at += 2) {
    const [first, last] = [set[at] as number, set[at + 1] as number]
    let from = first >> bits
    let to = last >> bits
    if (from === to) {
      put(from, first & low, last & low)
      continue
    }
    if ((first & low) !== 0) put(from++, first & low, low)
    const part = (last & low) !== low
    if (part) to--
    if (from <= to) add(from, to, [0, low])
    if (part) put(to + 1, 0, last & low)
  }
  if (rest.length > 0) add(lead, lead, rest)
  return [...groups.values()].map(({ leads, rest: tail }) =>
    concat([{ kind: 'class', set: ranges(leads) }, alt(forms(tail, 0x80, bits - 6))]),
  )
}
