import { createHash } from 'node:crypto'
import type { SpoolPosition } from './spool/position.js'

/** Input of a batch name. The same lines of the same job in the same folder have one name. */
export interface BatchOrigin {
  readonly spools: string
  readonly job: string
  readonly first: SpoolPosition
  readonly end: SpoolPosition
  /** If records between `first` and `end` were dropped meanwhile, there are fewer. */
  readonly records: number
  readonly from: Date
  readonly to: Date
}

/**
 * Returns a name like `20261121T101500Z_20261121T101530Z_5f0c2e9a`, which has the UTC times at which the first and the
 * last record were accepted, and a hash. A batch that is created again keeps the name `before` if no record is missing. Otherwise
 * it has another name, so that it does not replace the complete batch.
 */
export function batchName(origin: BatchOrigin, before: string | undefined): string {
  const hash = hashOf(origin, [origin.records])
  // Names of older versions do not depend on the number of records.
  if (before?.endsWith(hash) || before?.endsWith(hashOf(origin))) return before
  return `${stamp(origin.from)}_${stamp(origin.to)}_${hash}`
}

function hashOf({ spools, job, first, end }: BatchOrigin, more: readonly number[] = []): string {
  const input = [spools, job, first.position, first.skip, end.position, end.skip, ...more]
  return createHash('sha256').update(JSON.stringify(input)).digest('hex').slice(0, 8)
}

const stamp = (at: Date): string => at.toISOString().replace(/[-:]|\.\d+/g, '')
