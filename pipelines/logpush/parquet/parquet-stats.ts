/** Work for a Parquet file. */
export interface ParquetUse {
  readonly groups: number
  /** Time of the thread that writes files. */
  readonly seconds: number
}

/** Parquet files of an output since its start. */
export class ParquetStats {
  files = 0
  groups = 0
  /** Size of the files. */
  bytes = 0
  /** Time of the thread that writes files. */
  seconds = 0

  add({ groups, seconds }: ParquetUse, bytes: number): void {
    this.files++
    this.groups += groups
    this.bytes += bytes
    this.seconds += seconds
  }
}
