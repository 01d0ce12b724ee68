/** Code of a user that changes log records, as a port: jobs call it, and the runtime of Workers runs it. */

/** A module that changes records, with the modules that it imports. */
export interface TransformModule {
  /** Path of the file, for messages. */
  readonly file: string
  /** Name of the main module. It is one of `modules`. */
  readonly main: string
  readonly modules: readonly { readonly name: string; readonly source: string }[]
  /** The same for the same code. */
  readonly digest: string
}

/** Outcome of several records. All arrays have the order of the records. */
export interface TransformedRecords {
  /** JSON texts of the new records. */
  readonly bytes: Uint8Array
  /** Begin and end of each new record in `bytes`. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  /** Index in `starts` of the first new record of each record, and at the end the number of new records. */
  readonly firsts: readonly number[]
  /** Reasons of the records that are invalid, by their index. They have no new records. */
  readonly invalid: ReadonlyMap<number, string>
}

/** A module that runs. Calls are processed in their order. */
export interface RecordTransform {
  /**
   * Changes records, which are given as one JSON text per line in `text`. `ends` has the end of each line. A failure of the module makes records invalid. Rejects only if the
   * runtime cannot start, or after `close`.
   */
  run(text: Uint8Array, ends: readonly number[]): Promise<TransformedRecords>
  /** Number of times that the runtime was started again. */
  readonly restarts: number
  /** Time of all calls so far, in ms. */
  readonly busyMs: number
  close(): Promise<void>
}

/** Starts a module with its first records. `name` is the name of the output, which runs it once at a time. */
export type OpenTransform = (module: TransformModule, name: string) => RecordTransform
