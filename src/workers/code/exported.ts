import { posix } from 'node:path'
import type { Class, Expression, Node, ObjectExpression, SpreadElement } from 'acorn'
import type { ExportKind } from '../../core/model/worker.js'
import { modulePath } from '../upload/form.js'
import type { Meaning, ModuleScope } from './scope.js'

/** The kind of an exported name, and its handlers. */
export interface Exported {
  readonly kind: ExportKind
  readonly handlers: readonly string[]
}

/** Names that the runtime calls on an object or class that a module exports. */
const HANDLERS = ['fetch', 'scheduled', 'queue', 'email', 'tail', 'tailStream', 'trace', 'test'] as const
/** Returns whether the runtime calls a handler of this name, or sends this event to a service worker. */
export const isHandler = (name: string): boolean => (HANDLERS as readonly string[]).includes(name)
const OBJECT_HANDLERS = ['fetch', 'alarm', 'webSocketMessage', 'webSocketClose', 'webSocketError'] as const

/** Classes of the module `cloudflare:workers`, and what extends them. */
const BASES: Readonly<Record<string, ExportKind>> = {
  DurableObject: 'durable-object',
  WorkerEntrypoint: 'entrypoint',
  WorkflowEntrypoint: 'workflow',
}
const CALLED: Readonly<Record<ExportKind, readonly string[]>> = {
  object: HANDLERS,
  entrypoint: HANDLERS,
  'durable-object': OBJECT_HANDLERS,
  class: OBJECT_HANDLERS,
  workflow: ['run'],
}

// Longer chains than this are made to be followed.
const MAX_STEPS = 64

/**
 * The exports of uploaded modules, as far as their text shows. Computed values count as a class without a known base.
 */
export class ExportsOf {
  readonly #modules: ReadonlyMap<string, ModuleScope>
  /** Results so far. A short text can lead to one piece of code on more paths than can be followed. */
  readonly #judged = new Map<Node, Exported>()
  readonly #stars = new Map<ModuleScope, ReadonlySet<ModuleScope>>()

  /** `modules` is keyed by the name of the module. */
  constructor(modules: ReadonlyMap<string, ModuleScope>) {
    this.#modules = modules
  }

  /** Returns all exported names of a module and their kinds, in the order of the text. */
  of(module: ModuleScope): Map<string, Exported> {
    const found = new Map<string, Exported>()
    for (const scope of this.#sources(module))
      for (const [name, meaning] of scope.exports)
        if (!found.has(name) && (scope === module || name !== 'default'))
          found.set(name, this.#judge(meaning, scope, 0))
    return found
  }

  /** Returns a module and all modules whose names it exports with `export *`, each once. */
  #sources(module: ModuleScope): ReadonlySet<ModuleScope> {
    const known = this.#stars.get(module)
    if (known) return known
    const all = new Set([module])
    // Items that are added during the loop are visited as well.
    for (const one of all)
      for (const from of one.stars) {
        const other = this.#module(one, from)
        if (other) all.add(other)
      }
    this.#stars.set(module, all)
    return all
  }

  #module(from: ModuleScope, specifier: string): ModuleScope | undefined {
    const name = resolved(from.name, specifier)
    return name === undefined ? undefined : this.#modules.get(name)
  }

  #judge(meaning: Meaning, scope: ModuleScope, steps: number): Exported {
    if (steps > MAX_STEPS) return UNKNOWN
    if (meaning.kind === 'import') return this.#imported(meaning, scope, steps)
    const { node } = meaning
    const known = this.#judged.get(node)
    if (known) return known
    // Code that refers to itself counts as unknown until its result is known.
    this.#judged.set(node, UNKNOWN)
    const found = this.#read(node, scope, steps)
    this.#judged.set(node, found)
    return found
  }

  #read(node: Node, scope: ModuleScope, steps: number): Exported {
    if (node.type === 'Identifier') {
      const known = scope.locals.get((node as Node & { name: string }).name)
      return known ? this.#judge(known, scope, steps + 1) : UNKNOWN
    }
    if (node.type === 'ObjectExpression') return called('object', this.#members(node as ObjectExpression, scope, steps))
    if (node.type === 'ClassDeclaration' || node.type === 'ClassExpression')
      return called(...this.#class(node as Class, scope, steps))
    const inner = wrapped(node)
    return inner
      ? this.#judge({ kind: 'code', node: inner }, scope, steps + 1)
      : LITERALS.has(node.type)
        ? OBJECT
        : UNKNOWN
  }

  #imported({ from, name }: Meaning & { kind: 'import' }, scope: ModuleScope, steps: number): Exported {
    if (name === '*') return OBJECT
    const other = this.#module(scope, from)
    if (!other) return UNKNOWN
    for (const source of this.#sources(other)) {
      const meaning = source.exports.get(name)
      if (meaning) return this.#judge(meaning, source, steps + 1)
    }
    return UNKNOWN
  }

  #members(object: ObjectExpression, scope: ModuleScope, steps: number): string[] {
    return object.properties.flatMap((property): readonly string[] => {
      if (property.type === 'SpreadElement') return this.#spread(property, scope, steps)
      return property.computed ? [] : [nameOf(property.key)]
    })
  }

  #spread({ argument }: SpreadElement, scope: ModuleScope, steps: number): readonly string[] {
    return this.#judge({ kind: 'code', node: argument }, scope, steps + 1).handlers
  }

  /** Returns the kind and methods of a class, including the methods of base classes in the same upload. */
  #class(node: Class, scope: ModuleScope, steps: number): [ExportKind, string[]] {
    const own = node.body.body.flatMap((member) =>
      (member.type === 'MethodDefinition' || member.type === 'PropertyDefinition') && !member.static && !member.computed
        ? [nameOf(member.key as Expression)]
        : [],
    )
    const base = node.superClass ? this.#base(node.superClass, scope, steps + 1) : undefined
    return [base?.kind ?? 'class', [...own, ...(base?.handlers ?? [])]]
  }

  #base(expression: Expression, scope: ModuleScope, steps: number): Exported {
    if (expression.type === 'MemberExpression' && expression.object.type === 'Identifier') {
      const meaning = scope.locals.get(expression.object.name)
      const runtime = meaning?.kind === 'import' && meaning.from === RUNTIME
      return runtime && expression.property.type === 'Identifier' ? baseOf(expression.property.name) : UNKNOWN
    }
    if (expression.type === 'Identifier') {
      const meaning = scope.locals.get(expression.name)
      if (meaning?.kind === 'import' && meaning.from === RUNTIME) return baseOf(meaning.name)
    }
    return this.#judge({ kind: 'code', node: expression }, scope, steps)
  }
}

const RUNTIME = 'cloudflare:workers'
const UNKNOWN: Exported = { kind: 'class', handlers: [] }
const OBJECT: Exported = { kind: 'object', handlers: [] }
const LITERALS: ReadonlySet<string> = new Set([
  'Literal',
  'TemplateLiteral',
  'ArrayExpression',
  'ArrowFunctionExpression',
])

const baseOf = (name: string): Exported => ({
  kind: Object.hasOwn(BASES, name) ? (BASES[name] ?? 'class') : 'class',
  handlers: [],
})

/** Returns the members of an export that the runtime calls. */
export const exportedHandlers = (kind: ExportKind, members: readonly string[]): string[] =>
  CALLED[kind].filter((name) => members.includes(name))

const called = (kind: ExportKind, members: readonly string[]): Exported => ({
  kind,
  handlers: exportedHandlers(kind, members),
})

/** Returns the first argument of a helper such as `__name(class ..., "X")`. */
function wrapped(node: Node): Node | undefined {
  if (node.type === 'ParenthesizedExpression') return (node as Node & { expression: Node }).expression
  if (node.type !== 'CallExpression') return undefined
  const [first] = (node as Node & { arguments: Node[] }).arguments
  return first && WRAPPED.has(first.type) ? first : undefined
}
const WRAPPED: ReadonlySet<string> = new Set(['ClassExpression', 'ObjectExpression'])

const nameOf = (key: { type: string; name?: unknown; value?: unknown }): string =>
  key.type === 'Identifier' ? String(key.name) : String(key.value)

/** Returns the module of the upload that a relative import names. Undefined for every other import. */
export function resolved(from: string, specifier: string): string | undefined {
  if (!/^\.{0,2}\//.test(specifier)) return undefined
  const path = specifier.startsWith('/') ? specifier.slice(1) : posix.join(posix.dirname(from), specifier)
  return modulePath(path)
}
