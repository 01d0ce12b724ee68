import { eachInSteps, finished, type Steps } from '../core/schedule/steps.js'
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
  #filters: readonly Filter[] = []
  #sources: readonly Source[] = []
  /** Rules without a gate, as bits. */
  #always = new Int32Array()
  /** Used within one synchronous call only. */
  #bits = new Int32Array()
  #all: readonly number[] = []
  #isIndexed = false

  /** `rules` in their order. Lists are looked up now, as in `compile`. */
  constructor(rules: readonly IndexedRule[], lists: Lists = NO_LISTS) {
    finished(this.#fill(rules, lists))
  }

  /** Creates an index in steps. */
  static *inSteps(rules: readonly IndexedRule[], lists: Lists = NO_LISTS): Generator<undefined, RuleIndex> {
    const index = new RuleIndex([])
    yield* index.#fill(rules, lists)
    return index
  }

  *#fill(rules: readonly IndexedRule[], lists: Lists): Steps<void> {
    this.#filters = rules.map(({ filter }) => filter)
    this.#all = rules.map((_, rule) => rule)
    const words = (rules.length + 31) >> 5
    this.#always = new Int32Array(words)
    this.#bits = new Int32Array(words)
    if (rules.length < MIN_RULES) return
    const drafts = new Drafts(lists)
    const always = new Set<number>()
    for (const [rule, { gates: found, scheme }] of rules.entries()) {
      if (found === undefined) always.add(rule)
      else yield* eachInSteps(found.gates, (gate) => drafts.of(gate.path, scheme).add(gate, rule))
      yield undefined
    }
    this.#isIndexed = true
    const sources: Source[] = []
    for (const draft of drafts.all()) sources.push(yield* draft.finish(always))
    this.#sources = sources
    setBits(this.#always, Int32Array.from(always))
  }

  /** The numbers of all rules. */
  get all(): readonly number[] {
    return this.#all
  }

  /** Number of rules. */
  get size(): number {
    return this.#filters.length
  }

  /** Returns the numbers of the rules that could match, ascending. Each still has to be checked with `matches`. */
  candidates(context: Context): readonly number[] {
    if (!this.#isIndexed) return this.#all
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

/** Tables of the rules that one value opens. */
interface SourceTables {
  readonly equal: ReadonlyMap<Value, Int32Array> | undefined
  readonly folded: ReadonlyMap<Value, Int32Array> | undefined
  readonly prefixes: TextAutomaton | undefined
  readonly texts: TextAutomaton | undefined
  readonly segments: Segments | undefined
}

/** One value that gates read, and the rules it opens. */
class Source {
  readonly #evaluate: Evaluate
  readonly #mapped: boolean
  readonly #equal: ReadonlyMap<Value, Int32Array> | undefined
  readonly #folded: ReadonlyMap<Value, Int32Array> | undefined
  readonly #prefixes: TextAutomaton | undefined
  readonly #texts: TextAutomaton | undefined
  readonly #segments: Segments | undefined

  constructor({ evaluate, mapped }: Draft, tables: SourceTables) {
    this.#evaluate = evaluate
    this.#mapped = mapped
    this.#equal = tables.equal
    this.#folded = tables.folded
    this.#prefixes = tables.prefixes
    this.#texts = tables.texts
    this.#segments = tables.segments
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
  *finish(always: Set<number>): Steps<Source> {
    const equal = yield* packed(this.equal)
    const folded = yield* packed(this.folded)
    const prefixes = automaton(this.#prefixes, false, always)
    yield undefined
    const texts = automaton(this.#texts, true, always)
    yield undefined
    return new Source(this, { equal, folded, prefixes, texts, segments: yield* this.#segments(always) })
  }

  *#segments(always: Set<number>): Steps<Segments | undefined> {
    if (this.#ranges.length === 0) return undefined
    const segments = new Segments()
    try {
      yield* segments.fill(this.#ranges)
      return segments
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

function* packed(rules: RulesOf<Value>): Steps<ReadonlyMap<Value, Int32Array> | undefined> {
  if (rules.size === 0) return undefined
  const tables = new Map<Value, Int32Array>()
  yield* eachInSteps(rules, ([value, numbers]) => tables.set(value, Int32Array.from(numbers)))
  return tables
}

/** The drafts of all values that gates read. */
class Drafts {
  readonly #lists: Lists
  readonly #drafts = new Map<string, Draft>()
  /** All gates of a set have the same path. */
  #last: { readonly path: Path; readonly draft: Draft } | undefined

  constructor(lists: Lists) {
    this.#lists = lists
  }

  all(): Iterable<Draft> {
    return this.#drafts.values()
  }

  of(path: Path, scheme: Scheme): Draft {
    if (this.#last?.path === path) return this.#last.draft
    const key = keyOf(path)
    const draft = this.#drafts.get(key) ?? new Draft(path, new Compiler(scheme, this.#lists))
    this.#drafts.set(key, draft)
    this.#last = { path, draft }
    return draft
  }
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
