import { createHash } from 'node:crypto'
import type { SpoolPosition } from './spool/position.js'

/** Input of a batch name. The same lines of the same job in the same folder have one name. */
export interface BatchOrigin {
  readonly spools: string
  readonly job: string
  readonly first: SpoolPosition
  readonly end: SpoolPosition
  readonly from: Date
  readonly to: Date
}

/**
 * Returns a name like `20261121T101500Z_20261121T101530Z_5f0c2e9a`, which has the UTC times at which the first and the
 * last record were accepted, and a hash.
 */
export function batchName({ spools, job, first, end, from, to }: BatchOrigin): string {
  const lines = [first.position, first.skip, end.position, end.skip]
  const hash = createHash('sha256').update(JSON.stringify([spools, job, ...lines]))
  return `${stamp(from)}_${stamp(to)}_${hash.digest('hex').slice(0, 8)}`
}

const stamp = (at: Date): string => at.toISOString().replace(/[-:]|\.\d+/g, '')
