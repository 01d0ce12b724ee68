import { isMainThread } from 'node:worker_threads'
import { Parser } from 'acorn'

/**
 * Calls of the parser inside each other. Where the stack comes to its end, V8 may end the whole process instead of telling:
 * it does so where a regular expression is to be compiled there. So the parser stops long before: a call takes less than
 * a kilobyte, the main thread has one megabyte, and the thread that reads code has `THREAD_STACK_MEGABYTES`.
 */
const DEEPEST = isMainThread ? 300 : 30_000
export const THREAD_STACK_MEGABYTES = 64

/** From so many names on, a set answers in place of a look through all of them. */
const MANY = 32

/** Code that is nested deeper than this thread can read. */
export class TooDeep extends Error {
  override readonly name = 'TooDeep'
}

/** The names of a scope as acorn keeps them, in lists that it looks through for every name that it meets. */
class Names extends Array<string> {
  #known: Set<string> | undefined

  override push(...names: string[]): number {
    for (const name of names) this.#known?.add(name)
    return super.push(...names)
  }

  /** A place of the name, 0 or greater, if it is there; else -1. */
  override indexOf(name: string): number {
    if (this.length < MANY) return super.indexOf(name)
    this.#known ??= new Set(this)
    return this.#known.has(name) ? 0 : -1
  }
}

/** Every way in which code can stand inside of code leads through one of these methods of acorn's parser. */
const NESTING = [
  'parseStatement',
  'parseMaybeAssign',
  'parseMaybeUnary',
  'parseExprOp',
  'parseExprAtom',
  'parseBindingAtom',
] as const

/** What acorn's parser has besides what its types tell. */
interface Insides extends Record<(typeof NESTING)[number], (...args: unknown[]) => unknown> {
  readonly scopeStack: { var: string[]; lexical: string[]; functions: string[] }[]
  enterScope(flags: number): void
}

/** acorn's parser, but that deep nesting is no danger and many names in one block take no more than their number in time. */
export const CodeParser = Parser.extend((base) => {
  class Guarded extends (base as unknown as new () => Insides) {
    #depth = 0

    static {
      for (const name of NESTING) {
        const parse = this.prototype[name]
        this.prototype[name] = function (this: Guarded, a, b, c, d, e, f) {
          if (++this.#depth > DEEPEST) throw new TooDeep('is nested too deeply to be read')
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
