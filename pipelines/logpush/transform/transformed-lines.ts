import { EventLoopYield } from '../../../src/core/schedule/event-loop-yield.js'
import type { RecordTransform, TransformedRecords } from '../../../src/core/extension/record-transform.js'
import {
  MalformedRecord,
  Output,
  recordCheck,
  scannerOf,
  UnfitRecord,
  type Dedupe,
  type RecordScanner,
  type ScannedRecord,
} from '../../records/index.js'
import type { CompiledJob } from '../settings/compiled-job.js'
import type { Lines, SpoolPosition } from '../spool/position.js'

/** Maximum records of one call of a module. Calls end at positions that are multiples of this number. */
const CALL_RECORDS = 256
/** A call ends after the record with which its text exceeds this size. */
const CALL_BYTES = 512 * 1024

/** What a job does with a line before its module gets it. */
type Choice = 'filtered' | 'repeated' | 'sampled_out' | 'passed'

/** Counts of lines. Each line is counted once. */
export interface TransformCounts {
  /** Records that the module got, and records that it returned. */
  readonly given: number
  readonly returned: number
  readonly invalid: readonly { readonly place: string; readonly message: string }[]
}

/** A module with the parts of its job that all calls share. */
export class TransformStage {
  readonly transform: RecordTransform
  readonly job: CompiledJob
  readonly dedupe: Dedupe | undefined
  readonly scanner: RecordScanner
  readonly check: (record: ScannedRecord) => void
  readonly loop = new EventLoopYield()

  constructor(transform: RecordTransform, job: CompiledJob, dedupe: Dedupe | undefined) {
    this.transform = transform
    this.job = job
    this.dedupe = dedupe
    this.scanner = scannerOf(job.arriving)
    this.check = recordCheck(job.arriving)
  }

  /** Cuts the new lines of a frame into lines for one call each. The frame is not read afterwards. */
  cut(lines: Lines): TransformedLines[] {
    const cuts: TransformedLines[] = []
    for (let from = lines.begin; from < lines.count;) {
      const next = new TransformedLines(this, lines, from)
      cuts.at(-1)?.follow(next)
      cuts.push(next)
      from = next.count
    }
    return cuts
  }
}

/** Lines of a job whose records a module changes in one call. Each line becomes any number of records. */
export class TransformedLines implements Lines {
  /** Lines before it are done. */
  begin: number
  readonly count: number
  readonly frame = undefined
  readonly #stage: TransformStage
  readonly #lines: Lines
  readonly #from: number
  readonly #choices: Choice[] = []
  /** Text for the module with a line for each record, the end of each record, and the index of each line among them. */
  #given: Uint8Array = new Uint8Array(0)
  readonly #givenEnds: number[] = []
  readonly #givenAt: number[] = []
  #next: TransformedLines | undefined
  #running: Promise<void> | undefined
  #records: ScannedRecord[] = []
  /** By index of `#given`, as in TransformedRecords. */
  #firsts: readonly number[] = []
  #invalid = new Map<number, string>()
  #texts: Pick<TransformedRecords, 'bytes' | 'starts' | 'ends'> = { bytes: new Uint8Array(0), starts: [], ends: [] }

  constructor(stage: TransformStage, lines: Lines, from: number) {
    this.#stage = stage
    this.#lines = lines
    this.#from = from
    this.begin = from
    const aligned = from + CALL_RECORDS - (lines.place(from).position % CALL_RECORDS)
    this.count = this.#choose(Math.min(lines.count, aligned))
  }

  get acceptedAt(): number {
    return this.#lines.acceptedAt
  }

  /** The lines of the frame. */
  get lines(): Lines {
    return this.#lines
  }

  /** The following lines are given to the module while these are written. */
  follow(next: TransformedLines): void {
    this.#next = next
  }

  /** Resolves after the module has returned. Rejects if the runtime of the module does not start. */
  async ready(): Promise<void> {
    const next = this.#next
    this.#next = undefined
    this.#start()
    if (next !== undefined) next.#start()
    await this.#running
  }

  /** Returns the choice for a line, which precedes the module. */
  choice(index: number): Choice {
    return this.#choices[index - this.#from]!
  }

  /** Number of records that a line has become. */
  size(index: number): number {
    const at = this.#givenAt[index - this.#from]!
    return at < 0 || this.#invalid.has(at) ? 0 : this.#firsts[at + 1]! - this.#firsts[at]!
  }

  /** Returns one of the records that a line has become. */
  changed(index: number, record: number): ScannedRecord {
    return this.#records[this.#recordAt(index, record)]!
  }

  /** Returns the JSON text of one of the records that a line has become. */
  text(index: number, record: number): { readonly bytes: Uint8Array; readonly from: number; readonly to: number } {
    const { bytes, starts, ends } = this.#texts
    const at = this.#recordAt(index, record)
    return { bytes, from: starts[at]!, to: ends[at]! }
  }

  /** Returns the text that the module got for a line. Undefined if the module did not get the line. */
  given(index: number): Uint8Array | undefined {
    const at = this.#givenAt[index - this.#from]!
    return at < 0 ? undefined : this.#given.subarray(at === 0 ? 0 : this.#givenEnds[at - 1], this.#givenEnds[at])
  }

  /** Counts the lines from `begin` up to `end`. */
  counts(begin: number, end: number): TransformCounts {
    const invalid: { place: string; message: string }[] = []
    let given = 0
    let returned = 0
    for (let index = begin; index < end; index++) {
      const at = this.#givenAt[index - this.#from]!
      if (at < 0) continue
      given++
      returned += this.size(index)
      const message = this.#invalid.get(at)
      if (message !== undefined) invalid.push({ place: this.#placeOf(index), message: `transform: ${message}` })
    }
    return { given, returned, invalid }
  }

  record(): never {
    throw new Error('the records of these lines are not those of the spool')
  }

  key(index: number): number {
    return this.#lines.key(index)
  }

  place(index: number): SpoolPosition {
    return this.#lines.place(index)
  }

  cut(index: number): number {
    return this.#lines.cut(index)
  }

  before(place: SpoolPosition): number {
    return Math.min(this.count, this.#lines.before(place))
  }

  #recordAt(index: number, record: number): number {
    return this.#firsts[this.#givenAt[index - this.#from]!]! + record
  }

  #placeOf(index: number): string {
    return this.#lines.source?.(index) ?? `record ${this.#lines.place(index).position + 1}`
  }

  #choose(end: number): number {
    const { keeps, looks, samples } = this.#stage.job
    const { dedupe } = this.#stage
    const lines = this.#lines
    const output = new Output()
    let at = this.#from
    for (; at < end && output.length <= CALL_BYTES; at++) {
      let choice: Choice = 'passed'
      if (!keeps(lines.record(at, looks))) choice = 'filtered'
      else if (dedupe?.repeats(lines.record(at, looks), lines.key(at), lines.acceptedAt)) choice = 'repeated'
      else if (!samples(lines.key(at))) choice = 'sampled_out'
      this.#choices.push(choice)
      this.#givenAt.push(choice === 'passed' ? this.#givenEnds.length : -1)
      if (choice !== 'passed') continue
      const from = output.length
      lines.addRaw?.(at, output)
      endLine(output, from)
      this.#givenEnds.push(output.length)
    }
    this.#given = output.bytes.subarray(0, output.length)
    return at
  }

  #start(): void {
    this.#running ??= this.#run()
    // The caller of `ready` gets the error. Before that it must not count as unhandled.
    this.#running.catch(() => {})
  }

  async #run(): Promise<void> {
    if (this.#givenEnds.length === 0) return
    const { transform, scanner, check, loop } = this.#stage
    const outcome = await transform.run(this.#given, this.#givenEnds)
    const { bytes, starts, ends, firsts, invalid } = outcome
    this.#texts = { bytes, starts, ends }
    this.#firsts = firsts
    this.#invalid = new Map(invalid)
    for (let given = 0; given < this.#givenEnds.length; given++) {
      for (let at = firsts[given]!; at < firsts[given + 1]!; at++) {
        if (loop.isOver) await loop.yieldToEventLoop()
        try {
          const record = scanner.scan(bytes, starts[at], ends[at])
          check(record)
          this.#records.push(copyOf(record))
        } catch (error) {
          if (!(error instanceof MalformedRecord || error instanceof UnfitRecord)) throw error
          if (!this.#invalid.has(given)) this.#invalid.set(given, `record() returned: ${error.message}`)
          this.#records.push(NO_RECORD)
        }
      }
    }
  }
}

const LINE_FEED = 0x0a
const BLANK = 0x20

/** Ends the line of a record that begins at `from`. Line breaks in JSON text are white space. */
export function endLine(output: Output, from: number): void {
  const text = output.bytes.subarray(from, output.length)
  for (let at = text.indexOf(LINE_FEED); at >= 0; at = text.indexOf(LINE_FEED, at + 1)) text[at] = BLANK
  output.append(Uint8Array.of(LINE_FEED))
}

const copyOf = ({ bytes, starts, ends, marks }: ScannedRecord): ScannedRecord => ({
  bytes,
  starts: starts.slice(),
  ends: ends.slice(),
  marks: marks.slice(),
})

const NO_RECORD: ScannedRecord = {
  bytes: new Uint8Array(0),
  starts: new Int32Array(0),
  ends: new Int32Array(0),
  marks: new Uint8Array(0),
}
