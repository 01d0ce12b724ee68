/** Writes records, one JSON object a line, as a Parquet file. The same text gives the same bytes. */
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { readInstant, Scanner, type Instant, type ScannedRecord } from '../../records/index.js'
import { schemaOf, type Column, type ColumnType } from './columns.js'

/** A row group ends with the record that reaches one of these limits. A row group is in memory as a whole. */
const GROUP_BYTES = 16 * 1024 * 1024
const GROUP_ROWS = 100_000
const LINE_FEED = 0x0a
const ESCAPED = 1
const QUOTE = 0x22

type Value = string | number | bigint | boolean | null | (string | bigint | null)[]
type Read = (bytes: Buffer, start: number, end: number, marks: number) => Value

export class ParquetEncoder {
  readonly #columns: readonly Column[]
  readonly #scanner: Scanner
  readonly #reads: readonly Read[]
  readonly #bytes = new ByteWriter()
  readonly #writer: ParquetWriter
  readonly #groupBytes: number
  /** Number of row groups so far. */
  groups = 0
  #values: Value[][]
  #rows = 0
  #textBytes = 0
  /** Text of a line that is not complete. */
  #rest: Buffer = Buffer.alloc(0)

  constructor(columns: readonly Column[], groupBytes = GROUP_BYTES) {
    const names = columns.map(({ name }) => name)
    this.#columns = columns
    this.#groupBytes = groupBytes
    this.#scanner = new Scanner({ names, places: new Map(names.map((name, place) => [name, place])) })
    this.#reads = columns.map(({ type }) => READS[type])
    this.#writer = new ParquetWriter({ writer: this.#bytes, schema: schemaOf(columns), createdBy: 'edged' })
    this.#values = columns.map(() => [])
  }

  /** Adds text, which may end inside of a line. Returns what of the file is ready, in bytes of its own. */
  add(text: Uint8Array): Uint8Array {
    const given = Buffer.from(text.buffer, text.byteOffset, text.length)
    const bytes = this.#rest.length === 0 ? given : Buffer.concat([this.#rest, given])
    let start = 0
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, start)) {
      this.#row(bytes, start, end)
      start = end + 1
    }
    this.#rest = Buffer.from(bytes.subarray(start))
    return this.#taken()
  }

  /** Ends the file. Returns the rest of its bytes. */
  end(): Uint8Array {
    if (this.#rest.length > 0) this.#row(this.#rest, 0, this.#rest.length)
    this.#group()
    void this.#writer.finish()
    return this.#taken()
  }

  #row(bytes: Buffer, start: number, end: number): void {
    this.#add(bytes, this.#scanner.scan(bytes, start, end))
    this.#rows++
    this.#textBytes += end - start
    if (this.#rows >= GROUP_ROWS || this.#textBytes >= this.#groupBytes) this.#group()
  }

  #add(bytes: Buffer, { starts, ends, marks }: ScannedRecord): void {
    for (let place = 0; place < starts.length; place++) {
      const start = starts[place]!
      const isNull = start < 0 || bytes[start] === LETTER_N
      this.#values[place]!.push(isNull ? null : this.#reads[place]!(bytes, start, ends[place]!, marks[place]!))
    }
  }

  /** Writes the rows so far. */
  #group(): void {
    if (this.#rows === 0) return
    const columnData = this.#columns.map(({ name }, place) => ({ name, data: this.#values[place]! }))
    void this.#writer.write({ columnData, rowGroupSize: this.#rows })
    this.groups++
    this.#values = this.#columns.map(() => [])
    this.#rows = 0
    this.#textBytes = 0
  }

  #taken(): Uint8Array {
    const taken = new Uint8Array(this.#bytes.getBytes())
    // The offset goes on, by which the footer finds the columns.
    this.#bytes.index = 0
    return taken
  }
}

const LETTER_N = 0x6e
const INT = /^-?\d{1,19}$/
const MAX_INT = 2n ** 63n

/** Values of another JSON type than the column are null, except that a string can be any JSON text. */
const READS: Readonly<Record<ColumnType, Read>> = {
  string: (bytes, start, end, marks) => {
    if (bytes[start] !== QUOTE) return bytes.toString('utf8', start, end)
    if ((marks & ESCAPED) === 0) return bytes.toString('utf8', start + 1, end - 1)
    return JSON.parse(bytes.toString('utf8', start, end)) as string
  },
  int: (bytes, start, end) => intOf(bytes.toString('latin1', start, end)),
  float: (bytes, start, end) => {
    const value = Number(bytes.toString('latin1', start, end))
    return Number.isNaN(value) ? null : value
  },
  bool: (bytes, start) => (bytes[start] === 0x74 ? true : bytes[start] === 0x66 ? false : null),
  micros: (bytes, start, end) => timeOf(bytes, start, end, 1000),
  nanos: (bytes, start, end) => timeOf(bytes, start, end, 1),
  object: (bytes, start, end) => bytes.toString('utf8', start, end),
  'array[string]': (bytes, start, end) => {
    const list = JSON.parse(bytes.toString('utf8', start, end)) as unknown
    if (!Array.isArray(list)) return null
    return list.map((item) => (item === null ? null : typeof item === 'string' ? item : JSON.stringify(item)))
  },
  'array[int]': (bytes, start, end) => {
    const text = bytes.toString('latin1', start, end)
    if (!text.startsWith('[')) return null
    const items = text.slice(1, -1).trim()
    return items === '' ? [] : items.split(',').map((item) => intOf(item.trim()))
  },
}

function intOf(text: string): bigint | null {
  if (INT.test(text)) {
    const value = BigInt(text)
    return value >= -MAX_INT && value < MAX_INT ? value : null
  }
  // Such as 1e3 and 2.0.
  const value = Number(text)
  return Number.isSafeInteger(value) ? BigInt(value) : null
}

const INSTANT: Instant = { seconds: 0, nanos: 0 }

function timeOf(bytes: Buffer, start: number, end: number, nanosPerUnit: number): bigint | null {
  if (!readInstant(bytes, start, end, INSTANT)) return null
  const { seconds, nanos } = INSTANT
  const value = BigInt(seconds) * BigInt(1e9 / nanosPerUnit) + BigInt(Math.floor(nanos / nanosPerUnit))
  return value >= -MAX_INT && value < MAX_INT ? value : null
}
