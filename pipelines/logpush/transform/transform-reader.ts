import type { Lines, Reader, SpoolPosition } from '../spool/position.js'
import type { TransformedLines, TransformStage } from './transformed-lines.js'

/** Goes through the lines of a job whose records a module changes. */
export class TransformReader implements Reader {
  readonly #reader: Reader
  readonly #stage: TransformStage
  /** Lines that were read and are not done. */
  #cuts: TransformedLines[] = []

  constructor(reader: Reader, stage: TransformStage) {
    this.#reader = reader
    this.#stage = stage
  }

  get place(): SpoolPosition {
    return this.#reader.place
  }

  get missed(): number {
    return this.#reader.missed
  }

  async next(): Promise<TransformedLines | undefined> {
    if (this.#cuts.length === 0) {
      const lines = await this.#reader.next()
      this.#cuts = lines === undefined ? [] : this.#stage.cut(lines)
    }
    return this.#cuts[0]
  }

  due(): undefined {
    return undefined
  }

  at(lines: Lines, index: number): void {
    const [first] = this.#cuts
    if (first === undefined || first !== lines) throw new Error('these lines are not the next ones')
    first.begin = index
    if (index >= first.count) this.#cuts.shift()
    this.#reader.at(first.lines, index)
  }
}
