import { open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { deflateRaw } from 'node:zlib'
import { EventLoopYield } from '../../../core/schedule/event-loop-yield.js'
import { closedName, isSampled, linesOf, rayOf, raysPath, readSegment, type Segment } from './segments.js'

const deflated = promisify(deflateRaw)
const slices = new EventLoopYield()

/** Lines that are read between two pauses. */
const LINES = 256

/**
 * Closes a segment that no process appends to: compresses its records, with a sorted list of their ray ids beside them.
 * An empty segment is deleted. Resolves when the open file is gone.
 */
export async function closeSegment(segment: Segment): Promise<void> {
  const bytes = await readSegment(segment)
  if (bytes === undefined) return
  let from = Infinity
  let to = 0
  let records = 0
  const rays: bigint[] = []
  for (const line of linesOf(bytes)) {
    from = Math.min(from, line.at)
    to = Math.max(to, line.at)
    records++
    rays.push(rayNumber(rayOf(bytes, line)))
    if (records % LINES === 0) await slices.yieldToEventLoop()
  }
  if (records > 0) {
    const folder = dirname(segment.path)
    const name = closedName(segment, { from, to, records, isSampled: isSampled(bytes) })
    const path = join(folder, name)
    const sorted = BigUint64Array.from(rays).sort()
    await replaced(raysPath(path), Buffer.from(sorted.buffer))
    await replaced(path, await deflated(bytes, { level: 6 }))
  }
  await rm(segment.path, { force: true })
}

/** Returns the number of a ray id; 0 for a text that is none. */
export const rayNumber = (ray: string): bigint => (/^[0-9a-f]{16}$/.test(ray) ? BigInt(`0x${ray}`) : 0n)

/** Whether a sorted list of ray ids has one. */
export function hasRay(bytes: Buffer, ray: bigint): boolean {
  let low = 0
  let high = Math.floor(bytes.length / 8) - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const found = bytes.readBigUInt64LE(middle * 8)
    if (found === ray) return true
    if (found < ray) low = middle + 1
    else high = middle - 1
  }
  return false
}

/** Writes a file as a whole, or not at all. A crash of the machine may lose it. */
async function replaced(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.tmp`
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(bytes)
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}
