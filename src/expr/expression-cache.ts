import type { Logical, Path } from './ast.js'
import type { Scheme } from './language/scheme.js'

/** The syntax trees of expressions that are parsed several times in a row by a check, by hints and by the engine. */
export class ExpressionCache {
  readonly #maxCharacters: number
  #characters = 0
  /** By scheme, kind of expression and text. */
  readonly #trees = new Map<Scheme, Map<unknown, Map<string, Logical | Path>>>()

  /** A full cache is emptied. A tree takes about 30 times the memory of its text. */
  constructor(maxCharacters: number) {
    this.#maxCharacters = maxCharacters
  }

  /** Returns the tree of a text. `read` parses an unknown text and distinguishes filters from values. */
  tree<T extends Logical | Path>(text: string, scheme: Scheme, read: (text: string, scheme: Scheme) => T): T {
    const known = this.#trees.get(scheme)?.get(read)?.get(text)
    if (known !== undefined) return known as T
    const tree = read(text, scheme)
    if (this.#characters + text.length > this.#maxCharacters) this.clear()
    this.#characters += text.length
    const ofScheme = this.#trees.get(scheme) ?? new Map<unknown, Map<string, Logical | Path>>()
    this.#trees.set(scheme, ofScheme)
    const ofKind = ofScheme.get(read) ?? new Map<string, Logical | Path>()
    ofScheme.set(read, ofKind)
    ofKind.set(text, tree)
    return tree
  }

  clear(): void {
    this.#trees.clear()
    this.#characters = 0
  }
}
