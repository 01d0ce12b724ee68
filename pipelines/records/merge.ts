/**
 * Implements `merge_subrequests`. The record of a subrequest is held until the record of its parent arrives, and is
 * then added to the parent's `Subrequests`. A parent is never held. A subrequest whose parent has already passed, or
 * does not arrive in time, stays a separate record.
 */
import { MAX_SKEW_MS } from '../../src/core/clock-skew.js'
import type { Dataset } from './fields/dataset.js'
import { Format } from './format.js'
import type { OutputOptions } from './options.js'
import { copied, Output } from './output.js'
import { Scanner, type ScannedRecord } from './fields/scan.js'
import { decoded } from './fields/strings.js'

/** Maximum subrequests that become part of one parent. */
export const MAX_MERGED = 50
/** Maximum time that a subrequest waits for its parent. */
export const MERGE_WINDOW_MS = 300_000

interface Held {
  readonly line: Uint8Array
  readonly parent: string
  readonly untilMs: number
  readonly position: number
}

/** One job's subrequests that wait for their parents. */
export class SubrequestMerger {
  readonly #scanner: Scanner
  readonly #format: Format
  readonly #output = new Output()
  readonly #ray: number
  readonly #parent: number
  readonly #maxBytes: number
  /** Held subrequests in the order of arrival, so the first is the next to leave. */
  readonly #held = new Set<Held>()
  readonly #byParent = new Map<string, Set<Held>>()
  #bytes = 0

  /**
   * `options` select the fields of subrequests and the format of times. At most `maxBytes`, 64 MiB by default, are
   * held. Beyond that the oldest pass as separate records.
   */
  constructor(dataset: Dataset, options: OutputOptions, maxBytes = 64 * 2 ** 20) {
    const { timestamp_format } = options
    const field_names = (options.field_names ?? dataset.defaults).filter((name) => name !== 'Subrequests')
    this.#format = new Format(dataset, { field_names, record_suffix: '}', timestamp_format: timestamp_format ?? null })
    this.#scanner = new Scanner(dataset)
    this.#ray = dataset.places.get('RayID') ?? -1
    this.#parent = dataset.places.get('ParentRayID') ?? -1
    this.#maxBytes = maxBytes
  }

  /** Position of the record that has waited longest. Undefined if none waits. */
  get oldest(): number | undefined {
    for (const { position } of this.#held) return position
    return undefined
  }

  /** Adds a record, which is a JSON object, and returns the records that pass now, in order. Throws MalformedRecord. */
  add(line: Uint8Array, nowMs: number, position = 0): Uint8Array[] {
    const ready = this.expired(nowMs)
    const record = this.#scanner.scan(line)
    const parent = text(record, this.#parent)
    // "00" means that a request has no parent.
    if (parent === '' || parent === '00') {
      ready.push(...this.#joined(line, text(record, this.#ray)))
      return ready
    }
    const held = { line: new Uint8Array(line), parent, untilMs: nowMs + MERGE_WINDOW_MS, position }
    this.#held.add(held)
    const siblings = this.#byParent.get(parent) ?? new Set()
    this.#byParent.set(parent, siblings.add(held))
    this.#bytes += line.length
    for (const oldest of this.#held) {
      if (this.#bytes <= this.#maxBytes) break
      ready.push(this.#release(oldest))
    }
    return ready
  }

  /** Returns the subrequests that have waited long enough. */
  expired(nowMs: number): Uint8Array[] {
    const ready: Uint8Array[] = []
    for (const held of this.#held) {
      // A time that is too far ahead is from before the clock was set back.
      if (held.untilMs > nowMs && held.untilMs <= nowMs + MERGE_WINDOW_MS + MAX_SKEW_MS) break
      ready.push(this.#release(held))
    }
    return ready
  }

  /** Returns all subrequests that wait, at the end of the input. */
  rest(): Uint8Array[] {
    return this.expired(Infinity)
  }

  #joined(line: Uint8Array, ray: string): Uint8Array[] {
    const children = [...(this.#byParent.get(ray) ?? [])].map((held) => this.#release(held))
    if (children.length === 0) return [line]
    const end = line.lastIndexOf(0x7d)
    const isEmpty = line.subarray(line.indexOf(0x7b) + 1, end).every((byte) => byte <= 0x20)
    const output = this.#output
    output.append(line.subarray(0, end))
    output.append(Buffer.from(`${isEmpty ? '' : ','}"Subrequests":[`))
    for (const [index, child] of children.slice(0, MAX_MERGED).entries()) {
      if (index > 0) output.append(COMMA)
      this.#format.write(this.#scanner.scan(child), output)
    }
    output.append(Buffer.from(']}'))
    return [output.take(output.length, copied), ...children.slice(MAX_MERGED)]
  }

  #release(held: Held): Uint8Array {
    this.#held.delete(held)
    const siblings = this.#byParent.get(held.parent)
    siblings?.delete(held)
    if (siblings?.size === 0) this.#byParent.delete(held.parent)
    this.#bytes -= held.line.length
    return held.line
  }
}

const COMMA = Buffer.from(',')

/** The text of a string field, "" if there is none. */
function text({ bytes, starts, ends }: ScannedRecord, place: number): string {
  const start = starts[place] ?? -1
  return start < 0 || bytes[start] !== 0x22 ? '' : Buffer.from(decoded(bytes, start, ends[place]!)).toString()
}
