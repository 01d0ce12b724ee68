import type { Progress } from '../../logpush/monitor.js'
import type { ParquetStats } from '../../logpush/parquet/parquet-stats.js'
import { Tap } from '../../logpush/tap.js'
import type { TransformStats } from '../../logpush/transform/transform-stats.js'

/** Progress of one output of a run. */
export class OutputStats {
  /** By the filter and by sampling. */
  kept = 0
  /** Records that passed the filter and were left out by sampling. */
  sampledOut = 0
  /** Records that passed the filter and repeated one before them. */
  repeated = 0
  delivered = 0
  /** Records that were not delivered but written to the dead letter destination or dropped. */
  dropped = 0
  /** Attempts that failed. */
  retried = 0
  batches = 0
  /** Text of delivered batches, before compression. */
  bytes = 0
  /** Use of the transform. Undefined if the output has none, or has not used it yet. */
  transform: TransformStats | undefined
  /** Parquet files. Undefined if there was none. */
  parquet: ParquetStats | undefined
  /** Why the destination fails now. */
  failure: string | undefined
  /** Returns the lag of the output. Set while it runs. */
  progress: (() => Progress) | undefined
  /** Where the output shows its records. */
  readonly tap = new Tap()
}

type Counter = 'kept' | 'sampledOut' | 'delivered' | 'dropped' | 'retried' | 'batches' | 'bytes'

type Report = (place: string, message: string) => void

/** Progress of a run, which has the members of its summary. */
export class RunStats {
  /** Received records, including invalid ones. */
  read = 0
  rejected = 0
  /** Number of possible losses of unread records. Each content of a file or object counts at most once. */
  losses = 0
  /** Records that are known to be among them. */
  lost = 0
  /** Files, objects and streams that were read up to damage. Each also counts as one of `rejected`. */
  damaged = 0
  /** Bytes of input, before anything is decompressed. */
  inputBytes = 0
  readonly #outputs = new Map<string | undefined, OutputStats>()
  readonly #report: Report
  readonly #reportDamage: Report

  /** Calls `report` with the position of each invalid record, and `reportDamage` with each damaged input. */
  constructor(report: Report, reportDamage = report) {
    this.#report = report
    this.#reportDamage = reportDamage
  }

  /** Returns the counts of a route, or of the only output. */
  output(route: string | undefined): OutputStats {
    const known = this.#outputs.get(route)
    if (known !== undefined) return known
    const made = new OutputStats()
    this.#outputs.set(route, made)
    return made
  }

  get kept(): number {
    return this.#sum('kept')
  }

  get delivered(): number {
    return this.#sum('delivered')
  }

  get dropped(): number {
    return this.#sum('dropped')
  }

  get batches(): number {
    return this.#sum('batches')
  }

  get bytes(): number {
    return this.#sum('bytes')
  }

  reject(place: string, message: string): void {
    this.rejected++
    this.#report(place, message)
  }

  /** Counts that records may have been lost before they were read, with their number if it is known. */
  lose(records = 0): void {
    this.losses++
    this.lost += records
  }

  /** Counts an input that is not read beyond its damage. */
  damage(place: string, message: string): void {
    this.damaged++
    this.rejected++
    this.#reportDamage(place, message)
  }

  #sum(counter: Counter): number {
    let sum = 0
    for (const output of this.#outputs.values()) sum += output[counter]
    return sum
  }
}
