/**
 * Returns the bytes that the built daemon allocates for a request of each of these loads, measured in data of its own below
 * `folder`. `scale`: the share of the requests of the benchmark that are sent.
 */
export function allocations(folder: string, names: readonly string[], scale?: number): Promise<Record<string, number>>
