import type { Ranges } from './ranges.js'

/** Conditions on a position between two bytes. */
export type Look =
  | 'start'
  | 'end'
  | 'lineStart'
  | 'lineEnd'
  | 'crlfStart'
  | 'crlfEnd'
  | 'word'
  | 'notWord'
  | 'wordStart'
  | 'wordEnd'
  | 'wordStartHalf'
  | 'wordEndHalf'

/** A pattern over bytes. Flags and Unicode are already applied. */
export type Hir =
  | { readonly kind: 'empty' }
  | { readonly kind: 'class'; readonly set: Ranges }
  | { readonly kind: 'look'; readonly look: Look; readonly unicode: boolean }
  | { readonly kind: 'concat'; readonly items: readonly Hir[] }
  | { readonly kind: 'alt'; readonly items: readonly Hir[] }
  | {
      readonly kind: 'repeat'
      readonly item: Hir
      readonly min: number
      readonly max: number
      readonly greedy: boolean
    }
  | { readonly kind: 'group'; readonly item: Hir; readonly index: number }

export const EMPTY: Hir = { kind: 'empty' }

export function concat(items: readonly Hir[]): Hir {
  const flat: Hir[] = []
  for (const item of items) {
    if (item.kind === 'concat') for (const inner of item.items) flat.push(inner)
    else if (item.kind !== 'empty') flat.push(item)
  }
  return flat.length === 0 ? EMPTY : flat.length === 1 ? (flat[0] as Hir) : { kind: 'concat', items: flat }
}

export const alt = (items: readonly Hir[]): Hir => (items.length === 1 ? (items[0] as Hir) : { kind: 'alt', items })

const isLetter = (byte: number): boolean => (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a)

// Patterns are mostly plain bytes. Each byte has one node, shared by all patterns.
const BYTES = Array.from({ length: 256 }, (_, byte): Hir => ({ kind: 'class', set: [byte, byte] }))
const CASELESS = BYTES.map((node, byte): Hir => {
  const [upper, lower] = [byte & ~32, byte | 32]
  return isLetter(byte) ? { kind: 'class', set: [upper, upper, lower, lower] } : node
})

/** Returns the node of one byte. */
export const oneByte = (byte: number): Hir => BYTES[byte] as Hir

/** Returns the node of one byte, an ASCII letter in either case. */
export const caselessByte = (byte: number): Hir => CASELESS[byte] as Hir

/** Returns the letter, in lower case, if a set consists of its two cases. */
export function caselessLetter(set: Ranges): number | undefined {
  const lower = set[2]
  return set.length === 4 &&
    lower !== undefined &&
    isLetter(lower) &&
    set[0] === (lower & ~32) &&
    set[1] === set[0] &&
    set[3] === lower
    ? lower
    : undefined
}
