/** The counts of one zone that a process sends to the daemon. Plain data. */
export interface HistoryPart {
  /** Beginning of the cell, in milliseconds since 1970; a multiple of {@link CELL_MS}. */
  readonly time: number
  /** Id of the zone, or `other` for those after the first ones. */
  readonly zone: string
  readonly account: string
  /** Sections of a cell. */
  readonly cell: Uint8Array
}

/** Receives counts. */
export interface HistorySink {
  /** Resolves when a query sees the counts. */
  add(parts: readonly HistoryPart[]): Promise<void>
}
