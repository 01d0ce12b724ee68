/** The interface of functions that plug-ins add to the rules language. */

/** A parameter: the name of its type, or also which arguments it takes. `any` is the default of `kind`. */
export type PluginParam = string | { readonly type: string; readonly kind?: 'field' | 'literal' | 'any' }

/** A function of the rules language. */
export interface PluginFunction {
  /** Lower-case letters, digits and underscores. */
  readonly name: string
  /** Types are `Bool`, `Int`, `Bytes`, `Ip` and arrays such as `Array<Bytes>`. */
  readonly params: readonly PluginParam[]
  /** Parameters behind the others that a call may leave out. */
  readonly optional?: readonly PluginParam[]
  /** Type of the result. */
  readonly returns: string
  /** Phases in which expressions may call it. Default: all. */
  readonly phases?: readonly string[]
  /** Cost of a call in steps of the budget of a request. Default: 16. */
  readonly callSteps?: number
  /**
   * Computes the result. Missing arguments and a missing result are undefined. Bytes are byte strings with one character
   * (0 to 255) per byte, an Ip is the text of an address.
   */
  call(...args: readonly unknown[]): unknown
}
