import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

/** Bytes by which a file is recognized. */
export const HEAD_BYTES = 1024

/**
 * The beginning of a file, as a hash. A file that only grows keeps it, with any size and name. A file that was
 * truncated and written again has another.
 */
export interface Head {
  readonly bytes: number
  readonly hash: string
}

export const NO_HEAD: Head = { bytes: 0, hash: '' }

export const headOf = (bytes: Uint8Array): Head =>
  bytes.length === 0 ? NO_HEAD : { bytes: bytes.length, hash: createHash('sha256').update(bytes).digest('base64url') }

/** Reads the current head of a file. */
export async function readHead(handle: FileHandle): Promise<Uint8Array> {
  const buffer = Buffer.alloc(HEAD_BYTES)
  const { bytesRead } = await handle.read(buffer, 0, HEAD_BYTES, 0)
  return buffer.subarray(0, bytesRead)
}

/** Returns whether a file that begins with these bytes has this head. It is the same file or a copy. */
export const hasHead = (begin: Uint8Array, head: Head): boolean =>
  begin.length >= head.bytes && headOf(begin.subarray(0, head.bytes)).hash === head.hash

/** Returns the head of the content of a gzip file. Undefined if it is not one. */
export async function gunzippedHead(path: string): Promise<Uint8Array | undefined> {
  const pieces: Buffer[] = []
  let length = 0
  try {
    await pipeline(createReadStream(path, { highWaterMark: 16_384 }), createGunzip(), async (pieces_) => {
      for await (const piece of pieces_ as AsyncIterable<Buffer>) {
        pieces.push(piece)
        length += piece.length
        if (length >= HEAD_BYTES) break
      }
    })
  } catch {
    // Ended early on purpose, or damaged. The decoded part is used.
  }
  return length === 0 ? undefined : Buffer.concat(pieces).subarray(0, HEAD_BYTES)
}

/** Returns the identity of a file, which is its device and inode and does not depend on its name. */
export const identityOf = ({ dev, ino }: { dev: number; ino: number }): string => `${dev}:${ino}`
