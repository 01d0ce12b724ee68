import { isMainThread } from 'node:worker_threads'
import { Parser } from 'acorn'

/**
 * Maximum nesting of parser calls. At the end of the stack V8 may end the whole process instead of throwing, if a
 * regular expression is compiled there, so the parser stops long before. A call takes less than a kilobyte, the main
 * thread has one megabyte, and the thread that reads code has `THREAD_STACK_MEGABYTES`.
 */
const MAX_NESTING = isMainThread ? 300 : 30_000
export const THREAD_STACK_MEGABYTES = 64

/** From this number of names on, a set replaces a linear search. */
const MANY = 32

/** Code that is nested deeper than this thread can read. */
export class TooDeep extends Error {
  override readonly name = 'TooDeep'
}

/** The names of a scope as acorn stores them, in lists that acorn searches for every name that it reads. */
class Names extends Array<string> {
  #known: Set<string> | undefined

  override push(...names: string[]): number {
    for (const name of names) this.#known?.add(name)
    return super.push(...names)
  }

  /** Returns a position of the name, 0 or greater, or -1 if the name does not occur. */
  override indexOf(name: string): number {
    if (this.length < MANY) return super.indexOf(name)
    this.#known ??= new Set(this)
    return this.#known.has(name) ? 0 : -1
  }
}

/** All nested code is parsed by one of these methods of acorn's parser. */
const NESTING = [
  'parseStatement',
  'parseMaybeAssign',
  'parseMaybeUnary',
  'parseExprOp',
  'parseExprAtom',
  'parseBindingAtom',
] as const

/** Members of acorn's parser that its types do not declare. */
interface Insides extends Record<(typeof NESTING)[number], (...args: unknown[]) => unknown> {
  readonly scopeStack: { var: string[]; lexical: string[]; functions: string[] }[]
  enterScope(flags: number): void
}

/** acorn's parser with a limit for nesting, and with linear time for many names in one block. */
export const CodeParser = Parser.extend((base) => {
  class Guarded extends (base as unknown as new () => Insides) {
    #depth = 0

    static {
      for (const name of NESTING) {
        const parse = this.prototype[name]
        this.prototype[name] = function (this: Guarded, a, b, c, d, e, f) {
          if (++this.#depth > MAX_NESTING) throw new TooDeep('is nested too deeply to be read')
          const node = parse.call(this, a, b, c, d, e, f)
          this.#depth--
          return node
        }
      }
    }

    override enterScope(flags: number): void {
      super.enterScope(flags)
      const scope = this.scopeStack.at(-1)
      if (scope !== undefined) Object.assign(scope, { var: new Names(), lexical: new Names(), functions: new Names() })
    }
  }
  return Guarded as unknown as typeof Parser
})
