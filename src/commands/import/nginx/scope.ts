import type { Directive } from './parse.js'

/** The directives of one block, and of those around it, from which it inherits. */
export class Scope {
  readonly directives: readonly Directive[]
  readonly #parent: Scope | undefined

  constructor(directives: readonly Directive[], parent?: Scope) {
    this.directives = directives
    this.#parent = parent
  }

  /** Returns the directives of some names in this block alone, in their order. */
  own(...names: readonly string[]): Directive[] {
    return this.directives.filter(({ name }) => names.includes(name))
  }

  /** Returns the directives of some names of the nearest block that has one: a block with one inherits none. */
  all(...names: readonly string[]): Directive[] {
    const own = this.own(...names)
    return own.length > 0 || this.#parent === undefined ? own : this.#parent.all(...names)
  }

  /** Returns the directive of a name that is in force. */
  one(name: string): Directive | undefined {
    return this.all(name).at(-1)
  }

  /** Returns the first argument of the directive of a name that is in force. */
  value(name: string): string | undefined {
    return this.one(name)?.args[0]
  }
}
