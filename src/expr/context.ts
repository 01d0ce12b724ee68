import { BUDGET_EXCEEDED, type Budget } from './language/budget.js'
import type { Scheme } from './language/scheme.js'
import type { Value } from './language/value.js'

/**
 * Reads one field from the source of a context. Undefined if the field is missing. Charges the budget for splitting
 * texts.
 */
export type Getter<Source> = (source: Source, budget: Budget) => Value | undefined

const NONE = () => undefined

/** The getters of a scheme's fields, prepared once. Contexts for single requests are created from them. */
export class Getters<Source> {
  readonly scheme: Scheme
  readonly bySlot: readonly Getter<Source>[]
  readonly unread: readonly null[]

  /** `getters` by field name. A field without a getter is always missing. */
  constructor(scheme: Scheme, getters: Readonly<Record<string, Getter<Source>>>) {
    const bySlot = Array.from({ length: scheme.slots }, (): Getter<Source> => NONE)
    for (const { constant, index } of scheme.fields) if (constant !== undefined) bySlot[index] = () => constant
    for (const [name, getter] of Object.entries(getters)) {
      const field = scheme.field(name)
      if (field === undefined) throw new TypeError(`unknown field ${name}`)
      bySlot[field.index] = getter
    }
    this.scheme = scheme
    this.bySlot = bySlot
    this.unread = bySlot.map(() => null)
  }

  /** Returns a context for one request. Fields are read on first use. `steps` limits the work of all evaluations. */
  context(source: Source, steps = Infinity): Context {
    return new Context(this as Getters<unknown>, source, steps)
  }
}

/** The values of one request. Each field is read on first use and then cached. */
export class Context implements Budget {
  readonly #getters: Getters<unknown>
  readonly #source: unknown
  readonly #values: (Value | undefined | null)[]
  #steps: number

  constructor(getters: Getters<unknown>, source: unknown, steps: number) {
    this.#getters = getters
    this.#source = source
    this.#values = getters.unread.slice()
    this.#steps = steps
  }

  /** Returns the value in a slot of the scheme. Undefined if the value is missing. */
  get(slot: number): Value | undefined {
    const known = this.#values[slot]
    if (known !== null) return known
    const value = this.#getters.bySlot[slot]?.(this.#source, this)
    this.#values[slot] = value
    return value
  }

  spend(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) throw BUDGET_EXCEEDED
  }

  /** Clears the values in some slots, so that values that a rule changed are read again in the next phase. */
  forget(slots: readonly number[]): void {
    for (const slot of slots) this.#values[slot] = null
  }
}

/** Returns a context of known values, by field name. Other fields are missing. */
export function contextOf(scheme: Scheme, values: ReadonlyMap<string, Value>): Context {
  const getters: Record<string, Getter<undefined>> = {}
  for (const [name, value] of values) getters[name] = () => value
  return new Getters(scheme, getters).context(undefined)
}
