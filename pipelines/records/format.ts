/**
 * `output_options` compiled to a plan: texts that stay the same and the fields between them. A record is written by going
 * through the plan and copying slices.
 */
import { BACKSLASH, QUOTE } from '../../src/core/bytes.js'
import { ANY, MEMBERS } from './any.js'
import type { Dataset } from './dataset.js'
import type { OutputOptions } from './options.js'
import type { Output } from './output.js'
import { SPREAD, type ScannedRecord } from './scan.js'
import { writeText } from './strings.js'
import { parseTemplate, type TemplatePart } from './template.js'
import { readInstant, TIMESTAMP_BYTES, writeInstant, type Instant, type TimestampFormat } from './timestamps.js'

const DEFAULTS = {
  ndjson: { record_prefix: '{', record_suffix: '}\n' },
  csv: { record_prefix: '', record_suffix: '\n' },
} as const

const encoder = new TextEncoder()
const NOTHING = new Uint8Array(0)
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
  readonly before: Uint8Array
  readonly place: number
  readonly form: typeof PLAIN | typeof TIMESTAMP | typeof STRINGIFIED | typeof VERBATIM
  /** What is written if there is no value. */
  readonly missing: Uint8Array
}

/** How the records of a job are written. Has no state: batches, and jobs with the same options, can share it. */
export class Format {
  /** The share of records to keep, above 0 and at most 1. */
  readonly sampleRate: number
  readonly mergeSubrequests: boolean
  /** Whether every `${` of the output becomes `x{`. */
  readonly guarded: boolean
  readonly batchPrefix: Uint8Array
  readonly batchSuffix: Uint8Array
  readonly delimiter: Uint8Array
  /** Places of the fields that it writes. */
  readonly places: ReadonlySet<number>
  readonly #slots: readonly Slot[]
  readonly #end: Uint8Array
  readonly #csv: boolean
  readonly #timestamps: TimestampFormat
  readonly #textBytes: number
  readonly #instant: Instant = { seconds: 0, nanos: 0 }

  /** `options` as `parseOutputOptions` gave them. */
  constructor(dataset: Dataset, options: OutputOptions) {
    const type = options.output_type ?? 'ndjson'
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
    const parts = [
      encoder.encode(options.record_prefix ?? DEFAULTS[type].record_prefix),
      ...(template === ''
        ? joined(listed, options.field_delimiter ?? ',', this.#csv)
        : parseTemplate(template, { pointers: dataset.name === ANY })),
      encoder.encode(options.record_suffix ?? DEFAULTS[type].record_suffix),
    ]
    const slots: Slot[] = []
    let before: Uint8Array[] = []
    for (const part of parts) {
      const place =
        part instanceof Uint8Array || !listed.includes(part.field) ? undefined : dataset.places.get(part.field)
      if (part instanceof Uint8Array) before.push(part)
      else if (place === undefined) before.push(NULL)
      else {
        const merged = this.mergeSubrequests && part.field === 'Subrequests'
        const missing =
          part.field === MEMBERS ? NOTHING : merged ? EMPTY_LIST : this.#csv && template === '' ? NOTHING : NULL
        const form = formOf(dataset, place, options)
        slots.push({ before: Buffer.concat(before), place, form, missing })
        before = []
      }
    }
    this.#slots = slots
    this.places = new Set(slots.map(({ place }) => place))
    this.#end = Buffer.concat(before)
    this.#textBytes = slots.reduce((sum, slot) => sum + slot.before.length + TIMESTAMP_BYTES, this.#end.length)
  }

  /** Adds a record, without anything that stands between records or around batches. */
  write(record: ScannedRecord, output: Output): void {
    output.reserve(this.#bound(record))
    const out = output.bytes
    let to = output.length
    for (const slot of this.#slots) {
      to = copy(slot.before, 0, slot.before.length, out, to)
      to = this.#value(slot, record, out, to)
    }
    output.length = copy(this.#end, 0, this.#end.length, out, to)
  }

  /** Values become at most twice as long, and two quotes. */
  #bound({ starts, ends }: ScannedRecord): number {
    let bytes = this.#textBytes
    for (const { place } of this.#slots) if (starts[place]! >= 0) bytes += (ends[place]! - starts[place]!) * 2
    return bytes
  }

  #value({ place, form, missing }: Slot, record: ScannedRecord, out: Uint8Array, to: number): number {
    const { bytes } = record
    const start = record.starts[place]!
    const end = record.ends[place]!
    const first = start < 0 ? 0x6e : bytes[start]!
    if (first === 0x6e) return copy(missing, 0, missing.length, out, to)
    if (form === TIMESTAMP) {
      const written = this.#timestamp(bytes, start, end, out, to)
      if (written >= 0) return written
    }
    const nested = first === 0x7b || first === 0x5b || form === VERBATIM
    const mark = record.marks[place]!
    if (!nested && (mark === 0 || !this.#csv)) return copy(bytes, start, end, out, to)
    if (!nested) {
      out[to] = QUOTE
      const close = writeText(bytes, start, end, out, to + 1, true)
      out[close] = QUOTE
      return close + 1
    }
    if (this.#csv) return quoted(bytes, start, end, QUOTE, out, to)
    if (form === STRINGIFIED) return quoted(bytes, start, end, BACKSLASH, out, to)
    return (mark & SPREAD) === 0 ? copy(bytes, start, end, out, to) : gathered(bytes, start, end, out, to)
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

// Most values are short: a loop costs less than the view that `set` wants.
function copy(bytes: Uint8Array, start: number, end: number, out: Uint8Array, to: number): number {
  const length = end - start
  if (length > 96) out.set(bytes.subarray(start, end), to)
  else for (let i = 0; i < length; i++) out[to + i] = bytes[start + i]!
  return to + length
}

/** JSON text without the line breaks and tabs between its tokens; inside of strings there are none. */
function gathered(bytes: Uint8Array, start: number, end: number, out: Uint8Array, from: number): number {
  let to = from
  for (let at = start; at < end; at++) if (bytes[at]! >= 0x20) out[to++] = bytes[at]!
  return to
}

/** JSON text as a string: for csv with each quote doubled, for JSON with quotes and backslashes escaped. */
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
