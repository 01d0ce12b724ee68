import type { Ranges } from './ranges.js'

/** Conditions on a place between two bytes. */
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

/** A pattern over bytes, flags and Unicode already worked in. */
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
  const flat = items.flatMap((item) => (item.kind === 'concat' ? item.items : item.kind === 'empty' ? [] : [item]))
  return flat.length === 0 ? EMPTY : flat.length === 1 ? (flat[0] as Hir) : { kind: 'concat', items: flat }
}

export const alt = (items: readonly Hir[]): Hir => (items.length === 1 ? (items[0] as Hir) : { kind: 'alt', items })

export const oneByte = (byte: number): Hir => ({ kind: 'class', set: [byte, byte] })
