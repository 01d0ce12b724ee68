import type { Hir, Look } from './hir.js'
import type { Ranges } from './ranges.js'
import { RegexSyntaxError } from './syntax-error.js'

/** Kinds of steps. */
export const CLASS = 0
export const SPLIT = 1
export const LOOK = 2
export const SAVE = 3
export const MATCH = 4

/** A condition on the position, without a byte. */
export interface LookStep {
  readonly look: Look
  readonly unicode: boolean
}

/**
 * A pattern as numbered steps, without any state, that is, a nondeterministic automaton. Unicode classes have thousands
 * of steps, so a step is one entry of each array and not an object.
 */
export interface Program {
  readonly kinds: Uint8Array
  /** The step after each step. */
  readonly next: Int32Array
  /** Second choice of SPLIT, index in `accepts` of CLASS, index in `looks` of LOOK, slot of SAVE. */
  readonly other: Int32Array
  /** For each set of bytes, one byte per byte value. It is 1 if the value is in the set. */
  readonly accepts: readonly Uint8Array[]
  readonly looks: readonly LookStep[]
  readonly start: number
  /** True if a match can begin only at the first byte. */
  readonly anchored: boolean
  /** The class of each byte. All steps treat bytes of one class alike. */
  readonly classes: Uint8Array
  readonly classCount: number
}

/** Maximum size of a compiled pattern, as in the reference. A step counts with its size there. */
const MAX_BYTES = 10 * 1024 * 1024
const STEP_BYTES = 32

/** Maximum nesting of parts, for groups up to their maximum, and repeats of repeats. */
const MAX_DEPTH = 1000

/** Maximum number of steps. With more, one pattern could use the budget of a whole request on a short text. */
export const MAX_STEPS = 20_000

/** Counts of parts that occur in several places, such as Unicode classes. */
const counted = new WeakMap<Hir, number>()

/** Returns the approximate number of steps of a pattern's program. */
export function stepCount(hir: Hir): number {
  let count = counted.get(hir)
  if (count === undefined) counted.set(hir, (count = countSteps(hir)))
  return count
}

function countSteps(hir: Hir): number {
  switch (hir.kind) {
    case 'empty':
      return 0
    case 'class':
    case 'look':
      return 1
    case 'group':
      return 2 + stepCount(hir.item)
    case 'repeat': {
      const item = stepCount(hir.item)
      return item * hir.min + (item + 1) * (hir.max === Infinity ? 1 : hir.max - hir.min)
    }
    default:
      return hir.items.reduce((sum, item) => sum + stepCount(item), hir.kind === 'alt' ? hir.items.length - 1 : 0)
  }
}

/** Throws RegexSyntaxError if the program of a pattern would be too large, or its parts are nested too deeply. */
export function checkSize(hir: Hir): void {
  const steps = stepCount(hir)
  if (steps > MAX_STEPS) throw new RegexSyntaxError(tooManySteps(steps), 0)
  if (sizeOf(hir, 0) > MAX_BYTES) {
    throw new RegexSyntaxError(`compiled pattern exceeds the size limit of ${MAX_BYTES} bytes`, 0)
  }
}

/** Returns the message that a pattern, or a part of it, is too large. */
export const tooManySteps = (steps: number): string => `compiled pattern has ${steps} steps, ${MAX_STEPS} are allowed`

/** Sizes of alternatives, which Unicode classes consist of and share. */
const sized = new WeakMap<Hir, number>()

function sizeOf(hir: Hir, depth: number): number {
  if (depth > MAX_DEPTH) throw new RegexSyntaxError('exceeded the maximum number of nested repetitions', 0)
  switch (hir.kind) {
    case 'empty':
      return 0
    case 'class':
      return STEP_BYTES + hir.set.length * 4
    case 'look':
      return STEP_BYTES
    case 'group':
      return STEP_BYTES * 2 + sizeOf(hir.item, depth + 1)
    case 'repeat':
      return (STEP_BYTES + sizeOf(hir.item, depth + 1)) * Math.max(1, hir.max === Infinity ? hir.min + 1 : hir.max)
    case 'concat':
      return sizeOfItems(hir.items, depth)
    case 'alt': {
      const size = sized.get(hir) ?? sizeOfItems(hir.items, depth)
      sized.set(hir, size)
      return size
    }
  }
}

const sizeOfItems = (items: readonly Hir[], depth: number): number =>
  items.reduce((sum, item) => sum + STEP_BYTES + sizeOf(item, depth + 1), 0)

/** Builds the steps of a pattern of checked size, with captures or without. */
export function compileProgram(hir: Hir, captures: boolean): Program {
  const most = stepCount(hir) + 1
  const kinds = new Uint8Array(most)
  const nexts = new Int32Array(most)
  const others = new Int32Array(most)
  const sets = new Map<Ranges, number>()
  const looks: LookStep[] = []
  let size = 0
  const add = (kind: number, next: number, other = 0): number => {
    kinds[size] = kind
    nexts[size] = next
    others[size] = other
    return size++
  }
  const split = (first: number, second: number, greedy: boolean): number =>
    greedy ? add(SPLIT, first, second) : add(SPLIT, second, first)
  const setNumber = (set: Ranges): number => {
    const known = sets.get(set)
    if (known === undefined) sets.set(set, sets.size)
    return known ?? sets.size - 1
  }

  /** Adds `node` before the step `next`. Returns the step to begin at. */
  function emit(node: Hir, next: number): number {
    switch (node.kind) {
      case 'empty':
        return next
      case 'class':
        return add(CLASS, next, setNumber(node.set))
      case 'look':
        return add(LOOK, next, looks.push({ look: node.look, unicode: node.unicode }) - 1)
      case 'concat': {
        let entry = next
        for (let at = node.items.length - 1; at >= 0; at--) entry = emit(node.items[at] as Hir, entry)
        return entry
      }
      case 'alt':
        return node.items.map((item) => emit(item, next)).reduceRight((after, entry) => split(entry, after, true))
      case 'group': {
        if (!captures) return emit(node.item, next)
        const end = add(SAVE, next, node.index * 2 + 1)
        return add(SAVE, emit(node.item, end), node.index * 2)
      }
      case 'repeat':
        return emitRepeat(node, next)
    }
  }

  function emitRepeat({ item, min, max, greedy }: Hir & { kind: 'repeat' }, next: number): number {
    let entry = next
    if (max === Infinity) {
      const loop = (entry = split(next, next, greedy))
      const body = emit(item, loop)
      if (greedy) nexts[loop] = body
      else others[loop] = body
    } else {
      for (let count = min; count < max; count++) entry = split(emit(item, entry), next, greedy)
    }
    for (let count = 0; count < min; count++) entry = emit(item, entry)
    return entry
  }

  const match = add(MATCH, 0)
  const start = emit(hir, match)
  return {
    // Copies, because groups without captures need fewer steps than counted.
    kinds: kinds.slice(0, size),
    next: nexts.slice(0, size),
    other: others.slice(0, size),
    accepts: [...sets.keys()].map(acceptTable),
    looks,
    start,
    anchored: isAnchored(hir),
    ...byteClasses(sets.keys(), looks),
  }
}

/** Returns whether every way through a pattern begins with the start of the text. */
export function isAnchored(hir: Hir): boolean {
  if (hir.kind === 'look') return hir.look === 'start'
  if (hir.kind === 'group') return isAnchored(hir.item)
  if (hir.kind === 'concat') return hir.items.length > 0 && isAnchored(hir.items[0] as Hir)
  if (hir.kind === 'alt') return hir.items.every(isAnchored)
  return hir.kind === 'repeat' && hir.min > 0 && isAnchored(hir.item)
}

const WORD_EDGES = [0x30, 0x3a, 0x41, 0x5b, 0x5f, 0x60, 0x61, 0x7b]

/** Splits the 256 bytes between neighbors that any step distinguishes. */
function byteClasses(sets: Iterable<Ranges>, looks: readonly LookStep[]): { classes: Uint8Array; classCount: number } {
  const cuts = new Uint8Array(257)
  for (const set of sets) {
    for (let at = 0; at < set.length; at += 2) {
      cuts[set[at] as number] = 1
      cuts[(set[at + 1] as number) + 1] = 1
    }
  }
  for (const { look } of looks) for (const cut of /ord/.test(look) ? WORD_EDGES : [10, 11, 13, 14]) cuts[cut] = 1
  const classes = new Uint8Array(256)
  let count = 0
  for (let byte = 0; byte < 256; byte++) {
    if (byte > 0 && cuts[byte] === 1) count++
    classes[byte] = count
  }
  return { classes, classCount: count + 1 }
}

/** Tables of sets. Copies of one part of a pattern, and the same parts of several patterns, have the same set. */
const tables = new WeakMap<Ranges, Uint8Array>()

function acceptTable(set: Ranges): Uint8Array {
  const known = tables.get(set)
  if (known !== undefined) return known
  const table = new Uint8Array(256)
  for (let at = 0; at < set.length; at += 2) table.fill(1, set[at], (set[at + 1] as number) + 1)
  tables.set(set, table)
  return table
}
