import { randomBytes } from 'node:crypto'
import type * as fs from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** What a spool needs of a file system: `node:fs/promises`, or one that fails when a test says so. */
export type Disk = Pick<typeof fs, 'open' | 'rename' | 'rm' | 'readdir' | 'mkdir' | 'stat'>

const TEMPORARY = '.tmp'

/** Writes a file, for its owner only, that is there whole and for good when this resolves, or is what it was before. */
export async function replaceDurably(disk: Disk, path: string, data: Uint8Array | string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}${TEMPORARY}`
  try {
    const file = await disk.open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(data)
      await file.datasync()
    } finally {
      await file.close()
    }
    await disk.rename(temporary, path)
  } catch (error) {
    await disk.rm(temporary, { force: true }).catch(() => undefined)
    throw error
  }
  await syncFolder(disk, dirname(path))
}

/** Makes durable which names a folder holds. */
export async function syncFolder(disk: Disk, path: string): Promise<void> {
  const folder = await disk.open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Makes a folder, and the names of all folders on the way durable up to `below`. */
export async function makeFolder(disk: Disk, below: string, ...names: string[]): Promise<string> {
  let path = below
  for (const name of names) {
    const parent = path
    path = join(parent, name)
    const made = await disk.mkdir(path, { recursive: true, mode: 0o700 })
    if (made !== undefined) await syncFolder(disk, parent)
  }
  return path
}

/** Names in a folder; files that a crash left half written are removed. */
export async function namesIn(disk: Disk, path: string): Promise<string[]> {
  const names: string[] = []
  for (const name of await disk.readdir(path)) {
    if (name.endsWith(TEMPORARY)) await disk.rm(join(path, name), { force: true })
    else names.push(name)
  }
  return names
}

/** Writes all of it; a disk that is almost full takes only a part at first. */
export async function writeAt(file: FileHandle, pieces: readonly Buffer[], position: number): Promise<void> {
  let left = pieces
  let at = position
  while (left.length > 0) {
    const { bytesWritten } = await file.writev(left, at)
    if (bytesWritten === 0) throw new Error('the disk takes nothing')
    at += bytesWritten
    left = without(left, bytesWritten)
  }
}

function without(pieces: readonly Buffer[], count: number): Buffer[] {
  const rest: Buffer[] = []
  let skip = count
  for (const piece of pieces) {
    if (skip < piece.length) rest.push(piece.subarray(skip))
    skip = Math.max(0, skip - piece.length)
  }
  return rest
}

/** Bytes from `from` up to `to`, or to the end of the file; in `memory` where it is given, which has room for them. */
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
