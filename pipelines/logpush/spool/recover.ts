import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { Position } from './types.js'
import { Buffers } from './buffers.js'
import { isDiskFull } from '../../../src/core/errors.js'
import { namesIn, syncFolder, type Disk } from '../../../src/disk/durable-write.js'
import { readAt, writeAt } from '../../../src/disk/positioned-io.js'
import type { OpenFiles } from './open-files.js'
import type { Reader } from './reader.js'
import { BLOCK_BYTES, Segment, segmentFirst } from './segment.js'

/** The segments of a folder, in order. */
export async function listSegments(disk: Disk, files: OpenFiles, folder: string): Promise<Segment[]> {
  const segments: Segment[] = []
  const names = await namesIn(disk, folder)
  // A crash may have happened before the sync that follows a creation.
  await syncFolder(disk, folder)
  for (const name of names.sort()) {
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
  /** Bytes after the last valid frame that were cut off. */
  readonly cut: number
  /** Names of the fields of its records, if they can be read. */
  readonly names: readonly string[] | undefined
}

/**
 * Reads the last segment, quarantines damaged pieces, and cuts off the bytes after the last valid frame. Those are usually
 * an append that a crash has torn and that was never confirmed. Records at or above `passed`, which no reader has had,
 * are made durable.
 */
export async function recoverLast(disk: Disk, segment: Segment, reader: Reader, passed: Position): Promise<Recovered> {
  let end = segment.first
  let names: readonly string[] | undefined
  let cut = 0
  let unread: number | undefined
  const buffers = new Buffers(BLOCK_BYTES, 1)
  for (let offset = 0; offset < segment.size;) {
    const block = await segment.block(offset, buffers)
    if ('frames' in block) {
      buffers.give(block.memory)
      names ??= block.names
      const last = block.frames.at(-1)
      if (last !== undefined) end = last.first + last.count
      if (end > passed && last !== undefined) unread ??= offset
      offset = block.next
    } else if (block.to < segment.size) {
      await reader.setAside(segment, block, end, end)
      offset = block.to
    } else {
      cut = segment.size - block.from
      segment.size = block.from
    }
  }
  await settle(disk, segment, { isLonger: cut > 0, unread: unread ?? segment.size })
  return { end, cut, names }
}

/** Cuts the file off at its size if it is longer, and makes the bytes from `unread` on durable before anyone reads them. */
async function settle(
  disk: Disk,
  { path, size }: Segment,
  { isLonger, unread }: { isLonger: boolean; unread: number },
): Promise<void> {
  const file = await disk.open(path, 'r+')
  try {
    if (isLonger) await file.truncate(size)
    await rewrite(file, unread, size)
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** Writes bytes of a file again. After a failed sync the system considers them written, and another sync skips them. */
async function rewrite(file: FileHandle, from: number, to: number): Promise<void> {
  try {
    for (let at = from; at < to; at += BLOCK_BYTES)
      await writeAt(file, [await readAt(file, at, Math.min(to, at + BLOCK_BYTES))], at)
  } catch (error) {
    // A disk that copies on write can be too full to write the same bytes again.
    if (!isDiskFull(error)) throw error
  }
}
