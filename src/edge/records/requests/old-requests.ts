import { readdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { closeSegment } from './closing.js'
import { deleteSegment, dropOldest } from './ring.js'
import { segmentsIn } from './segments.js'

const DAY_MS = 86_400_000

/** Records of a zone that are kept if any are. */
const MIN_KEPT = 10_000

/** Returns the number of records of a zone to keep; 0 for none. */
export const keptRequests = ({ requests }: { readonly requests: number }): number =>
  requests === 0 ? 0 : Math.max(requests, MIN_KEPT)

export interface Retained {
  /** Records of a zone that are kept. 0: none. */
  readonly requests: number
  /** Older segments are deleted. 0: their age does not matter. */
  readonly days: number
  /** Whether a process with this number appends to its segment. */
  readonly isWriting: (process: number) => boolean
  /** Milliseconds since 1970. */
  readonly now: number
}

/**
 * Deletes the records of all zones that are not to be kept, closes the segments of processes that no longer exist, and
 * deletes empty folders, as the folders of deleted zones are in the end.
 */
export async function removeOldRequests(folder: string, { requests, days, isWriting, now }: Retained): Promise<void> {
  const zones = await readdir(folder).catch(() => [])
  for (const zone of zones) {
    const path = join(folder, zone)
    for (const segment of await segmentsIn(path)) {
      if (requests === 0) await deleteSegment(segment)
      else if (segment.closed) {
        if (days > 0 && segment.closed.to < now - days * DAY_MS) await deleteSegment(segment)
      } else if (!isWriting(segment.process)) await closeSegment(segment)
    }
    if (requests > 0) await dropOldest(path, requests)
    // A folder with segments stays.
    await rmdir(path).catch(() => undefined)
  }
}
