import type { Hir, Look } from './hir.js'
import { contains, type Ranges } from './ranges.js'
import { RegexSyntaxError } from './syntax-error.js'

/** One step of a pattern. Steps are numbered; `next` and `other` are numbers of steps. */
export type Step =
  | { readonly kind: 'class'; readonly set: Ranges; readonly next: number }
  | { kind: 'split'; next: number; other: number }
  | { readonly kind: 'look'; readonly look: Look; readonly unicode: boolean; readonly next: number }
  | { readonly kind: 'save'; readonly slot: number; readonly next: number }
  | { readonly kind: 'match' }

/** A pattern as a list of steps, without any state: a nondeterministic automaton. */
export interface Program {
  readonly steps: readonly Step[]
  readonly start: number
  /** True if a match can begin only at the first byte. */
  readonly anchored: boolean
  /** The class of each byte. All steps treat bytes of one class alike. */
  readonly classes: Uint8Array
  readonly classCount: number
  /** True if there are conditions on positions. */
  readonly looks: boolean
}

/** Maximum size of a compiled pattern, as in the reference; a step counts with its size there. */
const MAX_BYTES = 10 * 1024 * 1024
const STEP_BYTES = 32

/** Maximum nesting of parts: groups up to their maximum, and repeats of repeats. */
const MAX_DEPTH = 1000

/** Maximum number of steps: with more, one pattern could use the budget of a whole request on a short text. */
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
    default:
      return hir.items.reduce((sum, item) => sum + STEP_BYTES + sizeOf(item, depth + 1), 0)
  }
}

/** Builds the steps of a pattern of checked size, with captures or without. */
export function compileProgram(hir: Hir, captures: boolean): Program {
  const steps: Step[] = []
  const add = (step: Step): number => steps.push(step) - 1
  const split = (first: number, second: number, greedy: boolean): number =>
    add({ kind: 'split', next: greedy ? first : second, other: greedy ? second : first })

  /** Adds `node` before the step `next`. Returns the step to begin at. */
  function emit(node: Hir, next: number): number {
    switch (node.kind) {
      case 'empty':
        return next
      case 'class':
        return add({ kind: 'class', set: node.set, next })
      case 'look':
        return add({ kind: 'look', look: node.look, unicode: node.unicode, next })
      case 'concat':
        return node.items.reduceRight((after, item) => emit(item, after), next)
      case 'alt':
        return node.items.map((item) => emit(item, next)).reduceRight((after, entry) => split(entry, after, true))
      case 'group': {
        if (!captures) return emit(node.item, next)
        const end = add({ kind: 'save', slot: node.index * 2 + 1, next })
        return add({ kind: 'save', slot: node.index * 2, next: emit(node.item, end) })
      }
      case 'repeat':
        return emitRepeat(node, next)
    }
  }

  function emitRepeat({ item, min, max, greedy }: Hir & { kind: 'repeat' }, next: number): number {
    let entry = next
    if (max === Infinity) {
      entry = split(next, next, greedy)
      const loop = steps[entry] as Step & { kind: 'split' }
      const body = emit(item, entry)
      if (greedy) loop.next = body
      else loop.other = body
    } else {
      for (let count = min; count < max; count++) entry = split(emit(item, entry), next, greedy)
    }
    for (let count = 0; count < min; count++) entry = emit(item, entry)
    return entry
  }

  const match = add({ kind: 'match' })
  const start = emit(hir, match)
  return {
    steps,
    start,
    anchored: isAnchored(hir),
    ...byteClasses(steps),
    looks: steps.some((step) => step.kind === 'look'),
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
function byteClasses(steps: readonly Step[]): { classes: Uint8Array; classCount: number } {
  const cuts = new Uint8Array(257)
  for (const step of steps) {
    if (step.kind === 'class') {
      for (let at = 0; at < step.set.length; at += 2) {
        cuts[step.set[at] as number] = 1
        cuts[(step.set[at + 1] as number) + 1] = 1
      }
    } else if (step.kind === 'look') {
      for (const cut of /ord/.test(step.look) ? WORD_EDGES : [10, 11, 13, 14]) cuts[cut] = 1
    }
  }
  const classes = new Uint8Array(256)
  let count = 0
  for (let byte = 0; byte < 256; byte++) {
    if (byte > 0 && cuts[byte] === 1) count++
    classes[byte] = count
  }
  return { classes, classCount: count + 1 }
}

/** Tables of sets; copies of one part of a pattern have the same set. */
const tables = new WeakMap<Ranges, Uint8Array>()

/** Returns for each step of type class: one byte per byte value, 1 if it accepts. */
export function acceptTables(steps: readonly Step[]): (Uint8Array | undefined)[] {
  return steps.map((step) => {
    if (step.kind !== 'class') return undefined
    let table = tables.get(step.set)
    if (table === undefined) {
      table = Uint8Array.from({ length: 256 }, (_, byte) => (contains(step.set, byte) ? 1 : 0))
      tables.set(step.set, table)
    }
    return table
  })
}
