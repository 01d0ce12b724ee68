import { copyBytes, viewOf } from './fields/copy.js'
import type { Format } from './format.js'
import { Output } from './output.js'
import type { ScannedRecord } from './fields/scan.js'

const MIN_CELLS = 8192

/**
 * Fields of records, written once for several formats of one style. Each format copies the runs of fields that it
 * needs.
 */
export class Rows {
  readonly output = new Output()
  /** For each row its start in `output`, then the end of each field. The start of a row that is not written is 0. */
  cells = new Int32Array(MIN_CELLS)
  /** Cells of a row. */
  width = 1

  /** Bytes of memory. */
  get size(): number {
    return this.output.bytes.length + this.cells.byteLength
  }

  /** Removes all rows and reserves memory for `count` rows of `fields` fields. */
  clear(count: number, fields: number): void {
    this.width = fields + 1
    const needed = count * this.width
    if (needed > this.cells.length) this.cells = new Int32Array(Math.max(needed, this.cells.length * 2))
    else this.cells.fill(0, 0, needed)
    this.output.length = 1
  }

  has(index: number): boolean {
    return this.cells[index * this.width] !== 0
  }

  /** Writes a row in the format that {@link Format.rows} returned for its fields. */
  write(index: number, format: Format, record: ScannedRecord): void {
    format.writeRow(record, this.output, this.cells, index * this.width)
  }
}

/** Writes records of one format from rows of its style. */
export class RowCopier {
  /** Prefix and suffix of a record. */
  readonly #texts: DataView
  readonly #suffixFrom: number
  readonly #delimiter: number
  /** For each run of adjacent fields the cell with its start and the cell with its end. */
  readonly #runs: Int16Array

  /** `columns` are the fields of the rows, including all fields of the format. */
  constructor({ names, recordPrefix, recordSuffix, fieldDelimiter }: Format, columns: readonly string[]) {
    this.#texts = viewOf(Buffer.concat([recordPrefix, recordSuffix]))
    this.#suffixFrom = recordPrefix.length
    this.#delimiter = fieldDelimiter.length
    const runs: number[] = []
    for (const name of names) {
      const column = columns.indexOf(name)
      if (runs.at(-1) === column) runs[runs.length - 1] = column + 1
      else runs.push(column, column + 1)
    }
    this.#runs = Int16Array.from(runs)
  }

  /** Adds the record of a row that is written. */
  write({ output: rows, cells, width }: Rows, index: number, output: Output): void {
    const texts = this.#texts
    const runs = this.#runs
    const row = index * width
    // Each field of a row has a delimiter before it, unlike the first field of a record.
    let skip = this.#delimiter
    output.reserve(texts.byteLength)
    output.length = copyBytes(texts, 0, this.#suffixFrom, output.view, output.length)
    for (let i = 0; i < runs.length; i += 2) {
      const start = cells[row + runs[i]!]! + skip
      const end = cells[row + runs[i + 1]!]!
      skip = 0
      output.reserve(end - start + texts.byteLength)
      output.length = copyBytes(rows.view, start, end, output.view, output.length)
    }
    output.length = copyBytes(texts, this.#suffixFrom, texts.byteLength, output.view, output.length)
  }
}
