import type { Format } from './format.js'
import { copied, Output, type ReserveBytes, type Use } from './output.js'
import type { RowCopier, Rows } from './rows.js'
import type { ScannedRecord } from './fields/scan.js'

const DOLLAR = 0x24
const BRACE = 0x7b
const X = 0x78

/** Builds the text of consecutive batches, with delimiters, prefixes and suffixes. */
export class BatchText {
  readonly #format: Format
  readonly #output: Output
  #records = 0
  #taken = 0
  /** Where the last record began, -1 when it cannot be removed, and the byte before it as it was then. */
  #lastFrom = -1
  #border = 0
  /** Number of records that were added last. */
  #lastCount = 1

  /** `room` provides memory beyond 16 KiB. */
  constructor(format: Format, room?: ReserveBytes) {
    this.#format = format
    this.#output = new Output(room)
    this.#begin()
  }

  get records(): number {
    return this.#records
  }

  /** Bytes that the batch has when it is closed now, `batch_prefix` and `batch_suffix` included. */
  get size(): number {
    return this.#taken + this.#output.length + this.#format.batchSuffix.length
  }

  /** Adds a record. */
  add(record: ScannedRecord): void {
    const from = this.#next()
    this.#format.write(record, this.#output)
    this.#guard(from)
  }

  /** Adds records that are removed together. `record` returns one by its index. */
  addGroup(count: number, record: (index: number) => ScannedRecord): void {
    const from = this.#next()
    for (let index = 0; index < count; index++) {
      if (index > 0) this.#output.append(this.#format.delimiter)
      this.#format.write(record(index), this.#output)
    }
    this.#records += count - 1
    this.#lastCount = count
    this.#guard(from)
  }

  /** Adds the record of a row. */
  addRow(copier: RowCopier, rows: Rows, index: number): void {
    const from = this.#next()
    copier.write(rows, index, this.#output)
    this.#guard(from)
  }

  /** Begins a record that can be removed. Returns the end of the text before it. */
  #next(): number {
    const output = this.#output
    const from = output.length
    this.#lastFrom = from
    this.#lastCount = 1
    this.#border = output.bytes[from - 1] ?? 0
    if (this.#records++ > 0) output.append(this.#format.delimiter)
    return from
  }

  /** Adds `count` records from their text, in which each has the delimiter before it. */
  addWritten(text: Uint8Array, count: number): void {
    const output = this.#output
    const from = output.length
    this.#lastFrom = -1
    output.append(this.#records > 0 ? text : text.subarray(this.#format.delimiter.length))
    this.#records += count
    this.#guard(from)
  }

  /** Removes the records that were added last, for a batch that must not exceed a size. Once per `add`. */
  removeLast(): void {
    const from = this.#lastFrom
    if (from < 0) throw new Error('no record to remove')
    this.#output.length = from
    if (from > 0) this.#output.bytes[from - 1] = this.#border
    this.#records -= this.#lastCount
    this.#lastFrom = -1
  }

  /**
   * Passes the text of the open batch so far to `use`, removes it and returns the result of `use`, for example to
   * compress a large batch piece by piece. The text is valid only during `use`. One byte is retained because later
   * bytes can still change it.
   */
  take<T>(use: Use<T>): T {
    this.#lastFrom = -1
    return this.#taking(Math.max(0, this.#output.length - 1), use)
  }

  /** Ends the batch and begins the next. Returns the remaining text, or the result of `use` for it. */
  close(): Uint8Array<ArrayBuffer>
  close<T>(use: Use<T>): T
  close<T>(use?: Use<T>): T | Uint8Array<ArrayBuffer> {
    const from = this.#output.length
    this.#output.append(this.#format.batchSuffix)
    this.#guard(from)
    const rest = this.#taking<T | Uint8Array<ArrayBuffer>>(this.#output.length, use ?? copied)
    this.#begin()
    return rest
  }

  #begin(): void {
    this.#records = 0
    this.#taken = 0
    this.#lastFrom = -1
    this.#output.append(this.#format.batchPrefix)
    this.#guard(0)
  }

  #taking<T>(count: number, use: Use<T>): T {
    this.#taken += count
    return this.#output.take(count, use)
  }

  /**
   * Guards against CVE-2021-44228, from the byte before `from` on. A `$` at the end of one record and a `{` at the
   * start of the next count.
   */
  #guard(from: number): void {
    if (!this.#format.guarded) return
    const { bytes, length } = this.#output
    for (let at = Math.max(0, from - 1); at < length - 1; at++) {
      if (bytes[at] === DOLLAR && bytes[at + 1] === BRACE) bytes[at] = X
    }
  }
}
