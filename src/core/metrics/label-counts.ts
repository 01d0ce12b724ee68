/** Counts by the few values of one label. The first values are the fastest to count. */
export class LabelCounts<T extends string> implements Iterable<readonly [value: T, count: number]> {
  readonly #values: readonly T[]
  readonly #counts: number[]

  constructor(values: readonly T[]) {
    this.#values = values
    this.#counts = values.map(() => 0)
  }

  add(value: T): void {
    this.#counts[this.#values.indexOf(value)]!++
  }

  *[Symbol.iterator](): Generator<readonly [value: T, count: number]> {
    for (const [i, value] of this.#values.entries()) yield [value, this.#counts[i]!]
  }
}
