import { alt, concat, EMPTY, type Hir } from './hir.js'
import { intersect, type Ranges } from './ranges.js'

/** The last code points of one, two, three and four bytes. */
const LIMITS = [0x7f, 0x7ff, 0xffff, 0x10ffff]

/** The UTF-8 bytes of one code point. */
export function encode(point: number): number[] {
  return [...Buffer.from(String.fromCodePoint(point), 'utf8')]
}

/** A pattern of bytes for exactly the UTF-8 forms of a set of code points (surrogates have none). */
export function utf8(set: Ranges): Hir {
  const sequences: Hir[] = []
  const scalars = intersect(set, [0, 0xd7ff, 0xe000, 0x10ffff])
  const ascii = intersect(scalars, [0, 0x7f])
  if (ascii.length > 0) sequences.push({ kind: 'class', set: ascii })
  for (let at = 0; at < scalars.length; at += 2) split(scalars[at] as number, scalars[at + 1] as number, sequences)
  if (sequences.length === 0) return { kind: 'class', set: [] }
  return alt(sequences)
}

/** Cuts a range until every byte position varies on its own, and adds each piece. */
function split(first: number, last: number, out: Hir[]): void {
  if (last <= 0x7f) return
  if (first <= 0x7f) return split(0x80, last, out)
  for (const limit of LIMITS) {
    if (first <= limit && last > limit) {
      split(first, limit, out)
      return split(limit + 1, last, out)
    }
  }
  for (let bits = 6; bits <= 18; bits += 6) {
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
  const bytes = encode(first).map((byte, at): Hir => ({ kind: 'class', set: [byte, to[at] as number] }))
  out.push(bytes.length === 0 ? EMPTY : concat(bytes))
}
