import type { FileHandle } from 'node:fs/promises'

/** Writes all chunks at a position. A disk that is almost full accepts only a part at first. */
export async function writeAt(file: FileHandle, chunks: readonly Buffer[], position: number): Promise<void> {
  let remaining = chunks
  let at = position
  while (remaining.length > 0) {
    const { bytesWritten } = await file.writev(remaining, at)
    if (bytesWritten === 0) throw new Error('the disk accepted 0 bytes')
    at += bytesWritten
    remaining = without(remaining, bytesWritten)
  }
}

function without(chunks: readonly Buffer[], count: number): Buffer[] {
  const rest: Buffer[] = []
  let skip = count
  for (const chunk of chunks) {
    if (skip < chunk.length) rest.push(chunk.subarray(skip))
    skip = Math.max(0, skip - chunk.length)
  }
  return rest
}

/**
 * Reads bytes from `from` to `to` or the end of the file, into `memory` if it is passed. The memory must be large
 * enough.
 */
export async function readAt(
  file: FileHandle,
  from: number,
  to: number,
  memory?: Buffer<ArrayBuffer>,
): Promise<Buffer<ArrayBuffer>> {
  const bytes = memory?.subarray(0, to - from) ?? Buffer.allocUnsafeSlow(to - from)
  let filled = 0
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, from + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}
