import type { Budget } from './budget.js'
import type { Type } from './types.js'
import type { Bytes, Ip, Value } from './value.js'

/** A field of a scheme. */
export interface Field {
  readonly name: string
  readonly type: Type
  /** Slot under which a context stores the field's value. An alias has the slot of its field. */
  readonly index: number
  readonly aliasOf?: string | undefined
  /** The value, for a constant field. */
  readonly constant?: boolean | undefined
  /** Phases that have the field. Undefined if all phases have it. */
  readonly phases?: readonly string[] | undefined
}

/** An argument of a function, as known when the expression is parsed. */
export interface ArgInfo {
  readonly type: Type
  /** The value, if it is a literal. */
  readonly literal: Bytes | Ip | undefined
  /** The field, if the argument is a field and nothing else. */
  readonly field: string | undefined
}

export interface Param {
  /** `field` is not a literal, `literal` is only a literal, and `any` is both. */
  readonly kind: 'field' | 'literal' | 'any'
  /** For messages: `Bytes or Array<_>`. */
  readonly expected: string
  accepts(type: Type, first: Type | undefined): boolean
  /**
   * Returns which limit an argument exceeds, or undefined. The grammar has no such limits. They apply when an
   * expression is used in a rule.
   */
  check?(arg: ArgInfo): string | undefined
}

/** A call ready to run. Missing arguments and a missing result are undefined. */
export type Callee = (...args: (Value | undefined)[]) => Value | undefined

export interface FunctionDef {
  readonly name: string
  readonly params: readonly Param[]
  readonly optional: readonly Param[]
  /** The parameter for any number of further arguments. */
  readonly rest?: Param
  /** Phases in which the function is allowed. Undefined if all phases allow it. */
  readonly phases?: readonly string[]
  /** True for functions of rewrite and redirect values, which must not be used in a filter. */
  readonly valueOnly?: boolean
  /** True if an expression may contain it only once. */
  readonly once?: boolean
  /** Fields whose values are passed to the call after its own arguments. */
  readonly reads?: readonly string[]
  returns(first: Type): Type
  /** Creates the function for one position in an expression. Work that depends on literals is done here, once. */
  prepare(args: readonly ArgInfo[]): Callee
  /** Cost of a call in addition to its arguments, in steps of the budget. The default is 16. */
  readonly callSteps?: number
  /**
   * The same for a function that works longer than one step per byte of its arguments. It charges the budget for the
   * work.
   */
  prepareWithin?(args: readonly ArgInfo[]): (budget: Budget) => Callee
}

export interface SchemeOptions {
  /** Result of `field != literal` if the field is missing. False in the documented language. */
  readonly missingNotEqual?: boolean
}

/** The names that expressions may use. */
export class Scheme {
  readonly fields: readonly Field[]
  readonly functions: ReadonlyMap<string, FunctionDef>
  readonly missingNotEqual: boolean
  /** Number of slots of a context. */
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
