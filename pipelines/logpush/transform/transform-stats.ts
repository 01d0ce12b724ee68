import type { TransformCounts } from './transformed-lines.js'

/** Use of a module since the last call. Each record is counted once. */
export interface TransformUse extends TransformCounts {
  readonly restarts: number
  readonly seconds: number
}

/** Use of the module of an output since its start. */
export class TransformStats {
  /** Records that the module got. */
  given = 0
  /** Records that it returned. */
  returned = 0
  /** Records that it made invalid. */
  invalid = 0
  /** Times that its runtime was started again. */
  restarts = 0
  /** Time of all calls. */
  seconds = 0

  add({ given, returned, invalid, restarts, seconds }: TransformUse): void {
    this.given += given
    this.returned += returned
    this.invalid += invalid.length
    this.restarts += restarts
    this.seconds += seconds
  }
}
