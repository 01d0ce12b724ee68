import type { Issue } from '../core/errors.js'
import type { ListKind } from '../core/model/list.js'
import { parseIp, type Value } from '../expr/index.js'
import { LIST_TYPES } from './index.js'
import { configuredItem, itemIssues } from './item-check.js'

/** Types of lists in which a value is found by its text. */
export type TextListKind = Exclude<ListKind, 'redirect'>

const VALUES: Readonly<Record<TextListKind, (text: string) => Value | undefined>> = {
  ip: parseIp,
  hostname: (text) => text,
  asn: Number,
}

/** Returns whether a list has values that are given as text, and the issues of its items with pointers such as `/items/0`. */
export function textLookup(
  kind: TextListKind,
  items: readonly unknown[],
): { readonly has: (text: string) => boolean; readonly issues: readonly Issue[] } {
  const table = LIST_TYPES[kind].table()
  const issues: Issue[] = []
  for (const [index, item] of items.entries()) {
    const full = configuredItem(kind, item)
    const [wrong] = itemIssues(kind, full)
    if (wrong === undefined) table.add(full)
    else issues.push({ pointer: `/items/${index}`, message: wrong.message })
  }
  const has = (text: string) => {
    const value = VALUES[kind](text)
    return value !== undefined && table.has?.(value) === true
  }
  return { has, issues }
}
