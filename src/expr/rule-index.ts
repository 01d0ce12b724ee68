import type { Arg, Path } from './ast.js'
import { Compiler, type Evaluate, type Filter } from './compile.js'
import type { Context } from './context.js'
import { gatesOf, type Gate, type Gates } from './prefilter.js'
import type { Expression } from './expression.js'
import { NO_LISTS, type Lists } from './lists.js'
import type { Scheme } from './language/scheme.js'
import { Segments, type RuleRange } from './segments.js'
import { MAX_TEXT_BYTES, setBits, TextAutomaton } from './text-automaton.js'
import type { Bytes, Value } from './language/value.js'
import { lowered } from './language/wildcard.js'

/** With fewer rules, evaluating each one takes less time than the index. */
const MIN_RULES = 16
/** A pass over a text for fewer rules takes longer than evaluating them. */
const MIN_TEXT_RULES = 4

/**
 * A filter with its gates. Created once per rule. A changed ruleset reuses the indexed forms of its unchanged rules.
 */
export interface IndexedRule {
  readonly filter: Filter
  readonly gates: Gates | undefined
  readonly scheme: Scheme
}

/** Compiles a filter for an index. */
export const indexedRule = ({ root, scheme }: Expression, lists: Lists = NO_LISTS): IndexedRule => ({
  filter: new Compiler(scheme, lists).filter(root),
  gates: gatesOf(root),
  scheme,
})

/**
 * Index of many filters. The requirement of each filter (a host, a beginning of the path, a network) is stored in
 * tables, so that a request is looked up once per field and only the filters that it could match are run. Filters run
 * in their own order, so the outcome equals a sequential evaluation.
 */
export class RuleIndex {
  readonly #filters: readonly Filter[]
  readonly #sources: readonly Source[]
  /** Rules without a gate, as bits. */
  readonly #always: Int32Array
  /** Used within one synchronous call only. */
  readonly #bits: Int32Array
  /** The numbers of all rules. */
  readonly all: readonly number[]
  readonly #isIndexed: boolean

  /** `rules` in their order. Lists are looked up now, as in `compile`. */
  constructor(rules: readonly IndexedRule[], lists: Lists = NO_LISTS) {
    this.#filters = rules.map(({ filter }) => filter)
    this.all = rules.map((_, rule) => rule)
    const words = (rules.length + 31) >> 5
    this.#always = new Int32Array(words)
    this.#bits = new Int32Array(words)
    if (rules.length < MIN_RULES) {
      this.#sources = []
      this.#isIndexed = false
      return
    }
    const drafts = new Map<string, Draft>()
    const always = new Set<number>()
    for (const [rule, { gates: found, scheme }] of rules.entries()) {
      if (found === undefined) always.add(rule)
      else for (const gate of found.gates) draftOf(drafts, gate, new Compiler(scheme, lists)).add(gate, rule)
    }
    this.#isIndexed = true
    this.#sources = [...drafts.values()].map((draft) => draft.finish(always))
    setBits(this.#always, Int32Array.from(always))
  }

  /** Number of rules. */
  get size(): number {
    return this.#filters.length
  }

  /** Returns the numbers of the rules that could match, ascending. Each still has to be checked with `matches`. */
  candidates(context: Context): readonly number[] {
    if (!this.#isIndexed) return this.all
    const bits = this.#bits
    bits.set(this.#always)
    for (const source of this.#sources) source.mark(context, bits)
    const found: number[] = []
    for (let word = 0; word < bits.length; word++) {
      let rest = bits[word] as number
      while (rest !== 0) {
        const lowest = rest & -rest
        found.push(word * 32 + 31 - Math.clz32(lowest))
        rest ^= lowest
      }
    }
    return found
  }

  /** Returns whether one rule matches. */
  matches(rule: number, context: Context): boolean {
    return this.#filters[rule]?.(context) ?? false
  }

  /** Returns the numbers of all rules that match, ascending. */
  matching(context: Context): number[] {
    return this.candidates(context).filter((rule) => this.matches(rule, context))
  }

  /** Returns the first rule that matches, or -1. */
  first(context: Context): number {
    for (const rule of this.candidates(context)) if (this.matches(rule, context)) return rule
    return -1
  }
}

/** Cost of looking a text up in the tables of equal texts, in steps of the budget. */
const LOOKUP_STEPS = 16

/** One value that gates read, and the rules it opens. */
class Source {
  readonly #evaluate: Evaluate
  readonly #mapped: boolean
  readonly #equal: ReadonlyMap<Value, Int32Array> | undefined
  readonly #folded: ReadonlyMap<Value, Int32Array> | undefined
  readonly #prefixes: TextAutomaton | undefined
  readonly #texts: TextAutomaton | undefined
  readonly #segments: Segments | undefined

  constructor(draft: Draft, prefixes?: TextAutomaton, texts?: TextAutomaton, segments?: Segments) {
    this.#evaluate = draft.evaluate
    this.#mapped = draft.mapped
    this.#equal = packed(draft.equal)
    this.#folded = packed(draft.folded)
    this.#prefixes = prefixes
    this.#texts = texts
    this.#segments = segments
  }

  mark(context: Context, bits: Int32Array): void {
    const value = this.#evaluate(context)
    if (value === undefined) return
    if (!this.#mapped) this.#markOne(value, context, bits)
    else for (const element of value as readonly Value[]) this.#markOne(element, context, bits)
  }

  #markOne(value: Value, context: Context, bits: Int32Array): void {
    if (typeof value === 'string') context.spend(value.length + LOOKUP_STEPS)
    if (this.#equal !== undefined) {
      const rules = this.#equal.get(value)
      if (rules !== undefined) setBits(bits, rules)
    }
    if (this.#folded !== undefined) {
      const rules = this.#folded.get(lowered(value as Bytes, context))
      if (rules !== undefined) setBits(bits, rules)
    }
    if (this.#prefixes !== undefined) this.#prefixes.mark(value as Bytes, bits, context)
    if (this.#texts !== undefined) this.#texts.mark(value as Bytes, bits, context)
    if (this.#segments !== undefined) this.#segments.mark(value as number | string, bits)
  }
}

type RulesOf<T> = Map<T, number[]>

/** The gates of all rules on one value, while they are collected. */
class Draft {
  readonly evaluate: Evaluate
  readonly mapped: boolean
  readonly equal: RulesOf<Value> = new Map()
  readonly folded: RulesOf<Value> = new Map()
  readonly #prefixes: RulesOf<Bytes> = new Map()
  readonly #texts: RulesOf<Bytes> = new Map()
  readonly #ranges: RuleRange[] = []

  constructor(path: Path, compiler: Compiler) {
    this.mapped = path.mapped > 0
    this.evaluate = this.mapped ? compiler.elements(path) : compiler.value(path)
  }

  add(gate: Gate, rule: number): void {
    if (gate.kind === 'ip') this.#ranges.push({ range: gate.range, rule })
    else if (gate.kind === 'equal') note(gate.folded ? this.folded : this.equal, gate.value, rule)
    else note(gate.kind === 'prefix' ? this.#prefixes : this.#texts, gate.text, rule)
  }

  /** Builds the tables. Rules whose gates do not fit into them are added to `always`. */
  finish(always: Set<number>): Source {
    return new Source(
      this,
      automaton(this.#prefixes, false, always),
      automaton(this.#texts, true, always),
      this.#segments(always),
    )
  }

  #segments(always: Set<number>): Segments | undefined {
    if (this.#ranges.length === 0) return undefined
    try {
      return new Segments(this.#ranges)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      for (const { rule } of this.#ranges) always.add(rule)
      return undefined
    }
  }
}

function automaton(texts: RulesOf<Bytes>, anywhere: boolean, always: Set<number>): TextAutomaton | undefined {
  const kept: RulesOf<Bytes> = new Map()
  const few = anywhere && new Set([...texts.values()].flat()).size < MIN_TEXT_RULES
  let bytes = 0
  for (const [text, rules] of texts) {
    bytes += text.length
    if (few || bytes > MAX_TEXT_BYTES) for (const rule of rules) always.add(rule)
    else kept.set(text, rules)
  }
  return kept.size === 0 ? undefined : new TextAutomaton(kept, anywhere)
}

function note<T>(into: RulesOf<T>, key: T, rule: number): void {
  const rules = into.get(key)
  if (rules === undefined) into.set(key, [rule])
  else if (rules.at(-1) !== rule) rules.push(rule)
}

function packed(rules: RulesOf<Value>): ReadonlyMap<Value, Int32Array> | undefined {
  if (rules.size === 0) return undefined
  return new Map([...rules].map(([value, numbers]) => [value, Int32Array.from(numbers)]))
}

function draftOf(drafts: Map<string, Draft>, { path }: Gate, compiler: Compiler): Draft {
  const key = keyOf(path)
  let draft = drafts.get(key)
  if (draft === undefined) {
    draft = new Draft(path, compiler)
    drafts.set(key, draft)
  }
  return draft
}

/** Returns the same text for paths to the same value. */
function keyOf({ base, accesses }: Path): string {
  const root = base.kind === 'field' ? `${base.field.index}` : `${base.function.name}(${base.args.map(argKey).join()})`
  return root + JSON.stringify(accesses)
}

let distinct = 0

function argKey(arg: Arg): string {
  if (arg.kind === 'path') return keyOf(arg)
  // Logical arguments are not compared, because each has its own table.
  return arg.kind === 'literal' ? `${arg.type.name} ${JSON.stringify(`${arg.value}`)}` : `#${distinct++}`
}
