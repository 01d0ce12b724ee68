import { alt, concat, type Hir } from './hir.js'
import { intersect, ranges, type Ranges } from './ranges.js'

/** The last code points of one, two, three and four bytes. */
const LIMITS = [0x7f, 0x7ff, 0xffff, 0x10ffff]

/** The UTF-8 bytes of one code point. */
export function encode(point: number): number[] {
  return [...Buffer.from(String.fromCodePoint(point), 'utf8')]
}

/** The first and last byte at each place of a run of UTF-8 forms. */
type Sequence = readonly (readonly [first: number, last: number])[]

/** A pattern of bytes for exactly the UTF-8 forms of a set of code points (surrogates have none). */
export function utf8(set: Ranges): Hir {
  const sequences: Sequence[] = []
  const scalars = intersect(set, [0, 0xd7ff, 0xe000, 0x10ffff])
  for (let at = 0; at < scalars.length; at += 2) split(scalars[at] as number, scalars[at + 1] as number, sequences)
  return tree(sequences)
}

/**
 * One branch per group of lead bytes that the same bytes may follow. Lead bytes of two sequences are equal or have
 * nothing in common, as the sequences come from ranges that do not overlap.
 */
function tree(sequences: readonly Sequence[]): Hir {
  const byLead = new Map<string, { lead: readonly [number, number]; tails: Sequence[] }>()
  for (const [lead, ...tail] of sequences) {
    if (lead === undefined) continue
    const known = byLead.get(lead.join())
    if (known === undefined) byLead.set(lead.join(), { lead, tails: [tail] })
    else known.tails.push(tail)
  }
  const byTail = new Map<string, { leads: number[]; tails: readonly Sequence[] }>()
  for (const { lead, tails } of byLead.values()) {
    const known = byTail.get(JSON.stringify(tails))
    if (known === undefined) byTail.set(JSON.stringify(tails), { leads: [...lead], tails })
    else known.leads.push(...lead)
  }
  const branches = [...byTail.values()].map(({ leads, tails }): Hir => {
    const lead: Hir = { kind: 'class', set: ranges(leads) }
    return tails.every((tail) => tail.length === 0) ? lead : concat([lead, tree(tails)])
  })
  return branches.length === 0 ? { kind: 'class', set: [] } : alt(branches)
}

/** Cuts a range until every byte position varies on its own, and adds each piece. */
function split(first: number, last: number, out: Sequence[]): void {
  for (const limit of LIMITS) {
    if (first <= limit && last > limit) {
      split(first, limit, out)
      return split(limit + 1, last, out)
    }
  }
  const places = last > 0x7f ? [6, 12, 18] : []
  for (const bits of places) {
    const mask = 2 ** bits - 1
    if (first >>> bits === last >>> bits) continue
    if ((first & mask) !== 0) {
      split(first, first | mask, out)
      return split((first | mask) + 1, last, out)
    }
    if ((last & mask) !== mask) {
      split(first, (last & ~mask) - 1, out)
      return split(last & ~mask, last, out)
    }
  }
  const to = encode(last)
  out.push(encode(first).map((byte, at) => [byte, to[at] as number]))
}
