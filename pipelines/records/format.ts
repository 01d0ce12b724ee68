/**
 * Compiles `output_options` to a plan of constant texts and the fields between them. Writing a record goes through the
 * plan and copies slices.
 */
import { BACKSLASH, QUOTE } from '../../src/core/bytes.js'
import { ANY, MEMBERS } from './fields/any.js'
import { copyBytes, viewOf } from './fields/copy.js'
import type { Dataset } from './fields/dataset.js'
import type { OutputOptions } from './options.js'
import type { Output } from './output.js'
import { SPREAD, type ScannedRecord } from './fields/scan.js'
import { writeText } from './fields/strings.js'
import { parseTemplate, type TemplatePart } from './template.js'
import { readInstant, TIMESTAMP_BYTES, writeInstant, type Instant, type TimestampFormat } from './timestamps.js'

const DEFAULTS = {
  ndjson: { record_prefix: '{', record_suffix: '}\n' },
  csv: { record_prefix: '', record_suffix: '\n' },
} as const

const encoder = new TextEncoder()
const NOTHING: Uint8Array = new Uint8Array(0)
const NULL = encoder.encode('null')
const EMPTY_LIST = encoder.encode('[]')

/** How a value is written. */
const PLAIN = 0
const TIMESTAMP = 1
const STRINGIFIED = 2
/** Members of a record, as they are. */
const VERBATIM = 3

/** A text, then a field's value. */
interface Slot {
  /** Offset of the text in the texts of the format. */
  readonly from: number
  readonly to: number
  readonly place: number
  readonly form: typeof PLAIN | typeof TIMESTAMP | typeof STRINGIFIED | typeof VERBATIM
  /** The text that is written without a value. */
  readonly missingFrom: number
  readonly missingTo: number
  /** Bytes of the texts and of a timestamp. Other values become at most twice as long, and two quotes. */
  readonly most: number
}

/** Format of the records of a job. It has no state, so batches, and jobs with the same options, can share it. */
export class Format {
  /** The share of records to keep, above 0 and at most 1. */
  readonly sampleRate: number
  readonly type: NonNullable<OutputOptions['output_type']>
  readonly mergeSubrequests: boolean
  /** Whether every `${` of the output becomes `x{`. */
  readonly guarded: boolean
  readonly batchPrefix: Uint8Array
  readonly batchSuffix: Uint8Array
  readonly delimiter: Uint8Array
  /** Places of the fields that it writes. */
  readonly places: ReadonlySet<number>
  /**
   * Formats of one dataset with the same style write a field alike. Undefined if more than a list of fields is written.
   */
  readonly style: string | undefined
  /** Fields of the list, in order. */
  readonly names: readonly string[]
  readonly recordPrefix: Uint8Array
  readonly recordSuffix: Uint8Array
  readonly fieldDelimiter: Uint8Array
  readonly #dataset: Dataset
  readonly #options: OutputOptions
  readonly #slots: readonly Slot[]
  /** Texts of the slots. After them, from `#endFrom` on, follows the text that ends a record. */
  readonly #texts: DataView
  readonly #endFrom: number
  readonly #csv: boolean
  readonly #timestamps: TimestampFormat
  readonly #instant: Instant = { seconds: 0, nanos: 0 }
  /** Bytes of the last record. Usually the next records are in the same bytes. */
  readonly #source = { bytes: NOTHING, view: viewOf(NOTHING) }

  /** `options` as `parseOutputOptions` gave them. */
  constructor(dataset: Dataset, options: OutputOptions) {
    const type = options.output_type ?? 'ndjson'
    this.#dataset = dataset
    this.#options = options
    this.type = type
    this.#csv = type === 'csv'
    this.sampleRate = options.sample_rate ?? 1
    this.mergeSubrequests = options.merge_subrequests ?? false
    this.guarded = options['CVE-2021-44228'] ?? false
    this.#timestamps = options.timestamp_format ?? 'unixnano'
    this.batchPrefix = encoder.encode(options.batch_prefix ?? '')
    this.batchSuffix = encoder.encode(options.batch_suffix ?? '')
    this.delimiter = encoder.encode(options.record_delimiter ?? '')

    const template = options.record_template ?? ''
    // Of records of any shape a template has all the fields that it names.
    const usual = dataset.name === ANY && template !== '' ? dataset.names : dataset.defaults
    const names = options.field_names ?? usual
    const listed = this.mergeSubrequests && !names.includes('Subrequests') ? [...names, 'Subrequests'] : names
    const delimiter = options.field_delimiter ?? ','
    this.names = listed
    this.recordPrefix = encoder.encode(options.record_prefix ?? DEFAULTS[type].record_prefix)
    this.recordSuffix = encoder.encode(options.record_suffix ?? DEFAULTS[type].record_suffix)
    this.fieldDelimiter = encoder.encode(delimiter)
    this.style =
      template !== '' || this.mergeSubrequests || dataset.name === ANY
        ? undefined
        : JSON.stringify([dataset.name, type, delimiter, this.#timestamps, options.stringify_object ?? false])
    const parts = [
      this.recordPrefix,
      ...(template === ''
        ? joined(listed, delimiter, this.#csv)
        : parseTemplate(template, { pointers: dataset.name === ANY })),
      this.recordSuffix,
    ]
    const slots: Slot[] = []
    const texts: Uint8Array[] = []
    let at = 0
    const add = (text: Uint8Array) => {
      texts.push(text)
      return (at += text.length)
    }
    let from = 0
    for (const part of parts) {
      const place =
        part instanceof Uint8Array || !listed.includes(part.field) ? undefined : dataset.places.get(part.field)
      if (part instanceof Uint8Array) add(part)
      else if (place === undefined) add(NULL)
      else {
        const merged = this.mergeSubrequests && part.field === 'Subrequests'
        const missing =
          part.field === MEMBERS ? NOTHING : merged ? EMPTY_LIST : this.#csv && template === '' ? NOTHING : NULL
        const form = formOf(dataset, place, options)
        const to = at
        const missingTo = add(missing)
        slots.push({ from, to, place, form, missingFrom: to, missingTo, most: missingTo - from + TIMESTAMP_BYTES })
        from = at
      }
    }
    this.#slots = slots
    this.places = new Set(slots.map(({ place }) => place))
    this.#texts = viewOf(Buffer.concat(texts))
    this.#endFrom = from
  }

  /** Returns a format of the same style that writes rows of these fields, each with the delimiter before it. */
  rows(names: readonly string[]): Format {
    const delimiter = this.#options.field_delimiter ?? ','
    const around = { record_prefix: delimiter, record_suffix: '' }
    return new Format(this.#dataset, { ...this.#options, ...around, field_names: [...names] })
  }

  /** Adds a record, without delimiters between records or text around batches. */
  write(record: ScannedRecord, output: Output): void {
    const texts = this.#texts
    this.#read(record)
    for (const slot of this.#slots) this.#field(slot, record, output)
    output.reserve(texts.byteLength)
    output.length = copyBytes(texts, this.#endFrom, texts.byteLength, output.view, output.length)
  }

  /** Adds the fields of a record. Stores their start at `at` of `cells`, followed by the end of each field. */
  writeRow(record: ScannedRecord, output: Output, cells: Int32Array, at: number): void {
    this.#read(record)
    let cell = at
    cells[cell] = output.length
    for (const slot of this.#slots) {
      this.#field(slot, record, output)
      cells[++cell] = output.length
    }
  }

  #read({ bytes }: ScannedRecord): void {
    const source = this.#source
    if (bytes === source.bytes) return
    source.bytes = bytes
    source.view = viewOf(bytes)
  }

  #field(slot: Slot, record: ScannedRecord, output: Output): void {
    const start = record.starts[slot.place]!
    const end = record.ends[slot.place]!
    output.reserve(start < 0 ? slot.most : slot.most + (end - start) * 2)
    output.length = copyBytes(this.#texts, slot.from, slot.to, output.view, output.length)
    output.length = this.#value(slot, record, start, end, output)
  }

  #value(slot: Slot, record: ScannedRecord, start: number, end: number, output: Output): number {
    const { place, form, missingFrom, missingTo } = slot
    const source = this.#source
    const { bytes } = record
    const { bytes: out, view, length: to } = output
    const first = start < 0 ? 0x6e : bytes[start]!
    if (first === 0x6e) return copyBytes(this.#texts, missingFrom, missingTo, view, to)
    if (form === TIMESTAMP) {
      const written = this.#timestamp(bytes, start, end, out, to)
      if (written >= 0) return written
    }
    const nested = first === 0x7b || first === 0x5b || form === VERBATIM
    const mark = record.marks[place]!
    if (!nested && (mark === 0 || !this.#csv)) return copyBytes(source.view, start, end, view, to)
    if (!nested) {
      out[to] = QUOTE
      const close = writeText(source, start, end, output, to + 1, true)
      out[close] = QUOTE
      return close + 1
    }
    if (this.#csv) return quoted(bytes, start, end, QUOTE, out, to)
    if (form === STRINGIFIED) return quoted(bytes, start, end, BACKSLASH, out, to)
    return (mark & SPREAD) === 0 ? copyBytes(source.view, start, end, view, to) : gathered(bytes, start, end, out, to)
  }

  /** A value that is not a time, or none that can be written so, stays as it is. */
  #timestamp(bytes: Uint8Array, start: number, end: number, out: Uint8Array, to: number): number {
    if (!readInstant(bytes, start, end, this.#instant)) return -1
    return writeInstant(this.#instant, this.#timestamps, out, to)
  }
}

function formOf(dataset: Dataset, place: number, options: OutputOptions): Slot['form'] {
  const type = dataset.types[place]
  if (dataset.names[place] === MEMBERS) return VERBATIM
  if (type === 'timestamp') return TIMESTAMP
  return type === 'object' && options.stringify_object ? STRINGIFIED : PLAIN
}

/** The fields one after the other, with their names in ndjson. */
function joined(names: readonly string[], delimiter: string, csv: boolean): TemplatePart[] {
  return names.flatMap((name, index) => {
    const text = (index > 0 ? delimiter : '') + (csv || name === MEMBERS ? '' : `${JSON.stringify(name)}:`)
    return [encoder.encode(text), { field: name }]
  })
}

/** Copies JSON text without the line breaks and tabs between its tokens. Strings contain none. */
function gathered(bytes: Uint8Array, start: number, end: number, out: Uint8Array, from: number): number {
  let to = from
  for (let at = start; at < end; at++) if (bytes[at]! >= 0x20) out[to++] = bytes[at]!
  return to
}

/** Writes JSON text as a string. For csv each quote is doubled. For JSON quotes and backslashes are escaped. */
function quoted(bytes: Uint8Array, start: number, end: number, escape: number, out: Uint8Array, from: number): number {
  let to = from
  out[to++] = QUOTE
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!
    if (byte < 0x20) continue
    if (byte === QUOTE || byte === escape) out[to++] = escape
    out[to++] = byte
  }
  out[to++] = QUOTE
  return to
}
