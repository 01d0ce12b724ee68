/** Prints rows as a table; the columns are those of the first. */
export function table(rows: readonly object[]): void
