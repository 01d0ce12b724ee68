import type { FileHandle } from 'node:fs/promises'

const BLOCK = 512
/** A larger member was not written by edged, because records are in pieces, and a blob is an upload. */
const MAX_MEMBER_BYTES = 1024 * 1024 * 1024

/** Returns the header of a regular file in the format `ustar`, which every tar reads. */
export function tarHeader(name: string, size: number, seconds: number): Buffer {
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, length: number): void =>
    void header.write(value.toString(8).padStart(length - 1, '0'), at, 'latin1')
  header.write(name, 0, 'latin1')
  octal(0o600, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(size, 124, 12)
  octal(Math.floor(seconds), 136, 12)
  header.write('        0', 148, 'latin1')
  header.write('ustar\u000000', 257, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148, 'latin1')
  return header
}

/** Returns the zeros between a member of this size and the next header. */
export const tarPadding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)

/** End of an archive. */
export const TAR_END = Buffer.alloc(2 * BLOCK)

/** A file in an archive. */
export interface TarMember {
  readonly name: string
  readonly bytes: Buffer
}

/** Reads the members of an archive, one in memory at a time. Throws if it is cut off or not an archive. */
export async function* tarMembers(file: FileHandle): AsyncGenerator<TarMember> {
  for (let at = 0; ;) {
    const header = await readAt(file, at, BLOCK)
    if (header[0] === 0) return
    const text = (from: number, length: number) => header.toString('latin1', from, from + length).split('\u0000', 1)[0]!
    const name = text(0, 100)
    const size = parseInt(text(124, 12), 8)
    if (text(257, 5) !== 'ustar' || !(size <= MAX_MEMBER_BYTES)) throw new Error('is not an archive of edged backup')
    yield { name, bytes: await readAt(file, at + BLOCK, size) }
    at += BLOCK + size + tarPadding(size).length
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  for (let filled = 0; filled < length;) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled)
    if (bytesRead === 0) throw new Error('is cut off')
    filled += bytesRead
  }
  return bytes
}
