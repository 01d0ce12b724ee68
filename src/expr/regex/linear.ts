import type { Hir } from './hir.js'
import { isAnchored } from './program.js'
import { intersect, type Ranges } from './ranges.js'

/**
 * Maximum number of ways through a part without unbounded repeats, and its maximum length. Beyond it, the automaton is
 * used.
 */
const MAX_WAYS = 64
const MAX_LENGTH = 512
/** Maximum number of bytes read at one position before a mismatch is certain. Each way may read its length. */
const MAX_TRIED = 512

/** A pattern as JavaScript source, with the maximum number of steps of a search. */
export interface LinearSource {
  readonly source: string
  readonly perText: number
  readonly perByte: number
}

/**
 * Returns the pattern as JavaScript source if a backtracking engine is certain to run it in linear time, else
 * undefined.
 *
 * It is certain in two cases. In the first, no repeat lacks an upper bound except at the very end, and there are few
 * ways through the rest. In the second, the pattern is anchored at the start of the text, and each unbounded repeat is
 * of one class. Every such repeat except the last is followed by something that the class cannot contain, so that
 * giving back bytes fails immediately.
 */
export function linearSource(hir: Hir): LinearSource | undefined {
  const items = flat(hir)
  // Only the existence of a match matters. A repeat at the end matches with its minimum count.
  const last = items.at(-1)
  if (last?.kind === 'repeat' && last.max === Infinity) items[items.length - 1] = { ...last, max: last.min }
  const cost = costOf(items, isAnchored(hir))
  return cost && { source: items.map((item) => sourceOf(item)).join(''), ...cost }
}

/**
 * Returns the pattern with its capture groups, under the same conditions. A match has the groups that our own engines
 * find. A group inside a repeat is excluded, because JavaScript forgets it at each repetition.
 */
export function linearCaptures(hir: Hir): LinearSource | undefined {
  if (hasRepeatedGroup(hir)) return undefined
  const items = flat(hir)
  const last = items.at(-1)
  // Nothing follows a repeat at the end, so it never gives bytes back.
  const isOpen = last?.kind === 'repeat' && last.max === Infinity && isClass(last.item)
  if (isOpen) items[items.length - 1] = { ...last, max: last.min }
  const cost = costOf(items, isAnchored(hir))
  return cost && { source: sourceOf(hir, true), perText: cost.perText, perByte: cost.perByte + Number(isOpen) }
}

function hasRepeatedGroup(hir: Hir): boolean {
  if (hir.kind === 'repeat') return hir.max > 1 ? hasGroup(hir.item) : hasRepeatedGroup(hir.item)
  if (hir.kind === 'group') return hasRepeatedGroup(hir.item)
  return hir.kind === 'concat' || hir.kind === 'alt' ? hir.items.some(hasRepeatedGroup) : false
}

function hasGroup(hir: Hir): boolean {
  if (hir.kind === 'repeat') return hasGroup(hir.item)
  return hir.kind === 'concat' || hir.kind === 'alt' ? hir.items.some(hasGroup) : hir.kind === 'group'
}

/** Returns the maximum steps of a search for a sequence. Undefined if they may not be linear. */
function costOf(items: readonly Hir[], anchored: boolean): Pick<LinearSource, 'perText' | 'perByte'> | undefined {
  let ways = 1
  let length = 0
  let unbounded = 0
  for (const item of items) {
    if (item.kind === 'repeat' && item.max === Infinity && isClass(item.item)) {
      unbounded++
      length += item.min
      continue
    }
    const cost = bounded(item)
    if (cost === undefined) return undefined
    ways *= cost.ways
    length += cost.length
  }
  if (ways > MAX_WAYS || length > MAX_LENGTH) return undefined
  if (unbounded > 0 && (!anchored || !separated(items))) return undefined
  // A pattern that is anchored, and has no repeat to give bytes back, is matched at one position only.
  if (ways * length > MAX_TRIED && (unbounded > 0 || !anchored)) return undefined
  const perPlace = Math.max(1, ways * length)
  return anchored ? { perText: perPlace, perByte: unbounded > 0 ? 1 : 0 } : { perText: 0, perByte: perPlace }
}

/** Returns the top-level sequence. Groups are opened if that changes nothing. */
function flat(hir: Hir): Hir[] {
  if (hir.kind === 'concat') return hir.items.flatMap(flat)
  if (hir.kind === 'group') return flat(hir.item)
  return hir.kind === 'empty' ? [] : [hir]
}

const isClass = (hir: Hir): hir is Hir & { kind: 'class' } =>
  hir.kind === 'class' || (hir.kind === 'group' && isClass(hir.item))

/** Returns whether each unbounded repeat except the last is followed by something it cannot contain. */
function separated(items: readonly Hir[]): boolean {
  const at = items.flatMap((item, index) => (item.kind === 'repeat' && item.max === Infinity ? [index] : []))
  return at.slice(0, -1).every((index) => {
    const repeat = items[index] as Hir & { kind: 'repeat' }
    const follow = firstBytes(items[index + 1])
    return follow !== undefined && intersect(classOf(repeat.item), follow).length === 0
  })
}

const classOf = (hir: Hir): Ranges => (hir.kind === 'group' ? classOf(hir.item) : hir.kind === 'class' ? hir.set : [])

/** Returns the possible first bytes of a part. Undefined if the part may be empty or the bytes are unknown. */
function firstBytes(hir: Hir | undefined): Ranges | undefined {
  if (hir === undefined) return undefined
  if (hir.kind === 'class') return hir.set
  if (hir.kind === 'group') return firstBytes(hir.item)
  if (hir.kind === 'repeat') return hir.min > 0 ? firstBytes(hir.item) : undefined
  return hir.kind === 'concat' ? firstBytes(hir.items[0]) : undefined
}

/** Returns the number of ways through a part and its maximum text length. Undefined if either has no small bound. */
function bounded(hir: Hir): { ways: number; length: number } | undefined {
  switch (hir.kind) {
    case 'empty':
      return { ways: 1, length: 0 }
    case 'class':
      return { ways: 1, length: 1 }
    case 'look':
      // `\b` without Unicode, and the ends of the text, are the same in both languages.
      return /^(start|end|word|notWord)$/.test(hir.look) && !(hir.unicode && /ord/.test(hir.look))
        ? { ways: 1, length: 0 }
        : undefined
    case 'group':
      return bounded(hir.item)
    case 'concat':
    case 'alt': {
      const total = { ways: hir.kind === 'alt' ? 0 : 1, length: 0 }
      for (const item of hir.items) {
        const cost = bounded(item)
        if (cost === undefined) return undefined
        total.ways = hir.kind === 'alt' ? total.ways + cost.ways : total.ways * cost.ways
        total.length = hir.kind === 'alt' ? Math.max(total.length, cost.length) : total.length + cost.length
        if (total.ways > MAX_WAYS || total.length > MAX_LENGTH) return undefined
      }
      return total
    }
    case 'repeat': {
      const cost = bounded(hir.item)
      if (cost === undefined || hir.max > MAX_LENGTH) return undefined
      let ways = 0
      for (let count = hir.min; count <= hir.max; count++) ways += cost.ways ** count
      return ways > MAX_WAYS || cost.length * hir.max > MAX_LENGTH ? undefined : { ways, length: cost.length * hir.max }
    }
  }
}

const LOOK_SOURCE: Readonly<Record<string, string>> = { start: '^', end: '$', word: '\\b', notWord: '\\B' }

function sourceOf(hir: Hir, captures = false): string {
  const inner = (item: Hir) => sourceOf(item, captures)
  switch (hir.kind) {
    case 'empty':
      return ''
    case 'class':
      return classSource(hir.set)
    case 'look':
      return LOOK_SOURCE[hir.look] ?? ''
    case 'concat':
      return hir.items.map(inner).join('')
    case 'alt':
      return `(?:${hir.items.map(inner).join('|')})`
    case 'group':
      return `(${captures ? '' : '?:'}${inner(hir.item)})`
    case 'repeat': {
      const max = hir.max === Infinity ? '' : hir.max
      return `(?:${inner(hir.item)}){${hir.min},${max}}${hir.greedy ? '' : '?'}`
    }
  }
}

function classSource(set: Ranges): string {
  if (set.length === 2 && set[0] === set[1]) return charSource(set[0] as number)
  let body = ''
  for (let at = 0; at < set.length; at += 2) {
    body += charSource(set[at] as number)
    if (set[at] !== set[at + 1]) body += `-${charSource(set[at + 1] as number)}`
  }
  return `[${body}]`
}

function charSource(byte: number): string {
  const char = String.fromCharCode(byte)
  return /[A-Za-z0-9/_ ]/.test(char) ? char : `\\x${byte.toString(16).padStart(2, '0')}`
}
