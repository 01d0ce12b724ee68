import { join } from 'node:path'
import type { Position } from './types.js'
import { Buffers } from './buffers.js'
import { namesIn, type Disk } from '../../../src/disk/durable-write.js'
import type { OpenFiles } from './open-files.js'
import type { Reader } from './reader.js'
import { BLOCK_BYTES, Segment, segmentFirst } from './segment.js'

/** The segments of a folder, in order. */
export async function listSegments(disk: Disk, files: OpenFiles, folder: string): Promise<Segment[]> {
  const segments: Segment[] = []
  for (const name of (await namesIn(disk, folder)).sort()) {
    const first = segmentFirst(name)
    if (first === undefined) continue
    const { size, mtimeMs } = await disk.stat(join(folder, name))
    segments.push(new Segment(files, folder, first, size, mtimeMs))
  }
  return segments
}

export interface Recovered {
  /** Behind the last record of the segment. */
  readonly end: Position
  /** Bytes behind the last valid frame that were cut off. */
  readonly cut: number
  /** Names of the fields of its records, where they can be read. */
  readonly names: readonly string[] | undefined
}

/**
 * Reads the last segment through: sets damaged pieces aside, and cuts off what stands behind the last valid frame, which
 * is most often an append that a crash has torn and that was never confirmed.
 */
export async function recoverLast(disk: Disk, segment: Segment, reader: Reader): Promise<Recovered> {
  let end = segment.first
  let names: readonly string[] | undefined
  let cut = 0
  const buffers = new Buffers(BLOCK_BYTES, 1)
  for (let offset = 0; offset < segment.size;) {
    const block = await segment.block(offset, buffers)
    if ('frames' in block) {
      buffers.give(block.memory)
      names ??= block.names
      const last = block.frames.at(-1)
      if (last !== undefined) end = last.first + last.count
      offset = block.next
    } else if (block.to < segment.size) {
      await reader.setAside(segment, block, end, end)
      offset = block.to
    } else {
      cut = segment.size - block.from
      segment.size = block.from
    }
  }
  await settle(disk, segment, cut > 0)
  return { end, cut, names }
}

/** Cuts the file off at its size if it is longer. What was read may not have been on the disk yet: it has to be, before anyone sees it. */
async function settle(disk: Disk, { path, size }: Segment, longer: boolean): Promise<void> {
  const file = await disk.open(path, 'r+')
  try {
    if (longer) await file.truncate(size)
    await file.datasync()
  } finally {
    await file.close()
  }
}
