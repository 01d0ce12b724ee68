import type { Budget } from './budget.js'
import type { Type } from './types.js'
import type { Bytes, Ip, Value } from './value.js'

/** A field of a scheme. */
export interface Field {
  readonly name: string
  readonly type: Type
  /** Its slot: a context keeps the field's value under this number. An alias has the slot of what it stands for. */
  readonly index: number
  readonly aliasOf?: string | undefined
  /** The value, for a field that has the same one always. */
  readonly constant?: boolean | undefined
  /** Phases that have the field; undefined: all. */
  readonly phases?: readonly string[] | undefined
}

/** What a function is called with, as known when the expression is parsed. */
export interface ArgInfo {
  readonly type: Type
  /** The value, where it is a literal. */
  readonly literal: Bytes | Ip | undefined
  /** The field, where the argument is one and nothing else. */
  readonly field: string | undefined
}

export interface Param {
  /** `field`: no literal; `literal`: nothing else; `any`: both. */
  readonly kind: 'field' | 'literal' | 'any'
  /** For messages: `Bytes or Array<_>`. */
  readonly expected: string
  accepts(type: Type, first: Type | undefined): boolean
  /**
   * What is beyond the limits in an argument, undefined if nothing is. The grammar knows no such limits: they hold where
   * an expression is put to use.
   */
  check?(arg: ArgInfo): string | undefined
}

/** A call ready to run: missing arguments are undefined, and so is a missing result. */
export type Callee = (...args: (Value | undefined)[]) => Value | undefined

export interface FunctionDef {
  readonly name: string
  readonly params: readonly Param[]
  readonly optional: readonly Param[]
  /** The parameter that any number of further arguments go to. */
  readonly rest?: Param
  /** Phases where the function may stand; undefined: all. */
  readonly phases?: readonly string[]
  /** True for functions of rewrite and redirect values, that may not stand in a filter. */
  readonly valueOnly?: boolean
  /** True if an expression may hold it once. */
  readonly once?: boolean
  /** Fields whose values the call is given after its own arguments. */
  readonly reads?: readonly string[]
  returns(first: Type): Type
  /** Creates the function for one place in an expression; what depends on literals is done here and once. */
  prepare(args: readonly ArgInfo[]): Callee
  /** The same for a function whose work is not linear in its arguments: it charges the budget itself. */
  prepareWithin?(args: readonly ArgInfo[]): (budget: Budget) => Callee
}

export interface SchemeOptions {
  /** What `field != literal` is when the field is missing. The language as documented: false. */
  readonly missingNotEqual?: boolean
}

/** The names that an expression may use. */
export class Scheme {
  readonly fields: readonly Field[]
  readonly functions: ReadonlyMap<string, FunctionDef>
  readonly missingNotEqual: boolean
  /** How many slots a context has. */
  readonly slots: number
  readonly #byName = new Map<string, Field>()

  constructor(
    fields: readonly Omit<Field, 'index'>[],
    functions: readonly FunctionDef[],
    { missingNotEqual = false }: SchemeOptions = {},
  ) {
    const slots = new Map<string, number>()
    for (const field of fields) if (field.aliasOf === undefined) slots.set(field.name, slots.size)
    this.fields = fields.map((field) => {
      const index = slots.get(field.aliasOf ?? field.name)
      if (index === undefined) throw new TypeError(`${field.name} is an alias of ${field.aliasOf}, which is no field`)
      return { ...field, index }
    })
    for (const field of this.fields) this.#byName.set(field.name, field)
    if (this.#byName.size !== fields.length) throw new TypeError('two fields of a scheme have one name')
    this.functions = new Map(functions.map((definition) => [definition.name, definition]))
    this.missingNotEqual = missingNotEqual
    this.slots = slots.size
  }

  field(name: string): Field | undefined {
    return this.#byName.get(name)
  }
}
