import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

/** Bytes by which a file is recognized. */
export const HEAD_BYTES = 1024

/**
 * The beginning of a file, as a hash. A file that only grows keeps it, whatever its size and name; one that was truncated and
 * written again has another.
 */
export interface Head {
  readonly bytes: number
  readonly hash: string
}

export const NO_HEAD: Head = { bytes: 0, hash: '' }

export const headOf = (bytes: Uint8Array): Head =>
  bytes.length === 0 ? NO_HEAD : { bytes: bytes.length, hash: createHash('sha256').update(bytes).digest('base64url') }

/** Reads what the head of a file is now. */
export async function readHead(handle: FileHandle): Promise<Uint8Array> {
  const buffer = Buffer.alloc(HEAD_BYTES)
  const { bytesRead } = await handle.read(buffer, 0, HEAD_BYTES, 0)
  return buffer.subarray(0, bytesRead)
}

/** Whether a file that begins with these bytes is the one with the head, or a copy of it. */
export const hasHead = (begin: Uint8Array, head: Head): boolean =>
  begin.length >= head.bytes && headOf(begin.subarray(0, head.bytes)).hash === head.hash

/** Returns the head of the content of a gzip file; undefined if it is not one. */
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
    // Ended early on purpose, or damaged: what came is all there is.
  }
  return length === 0 ? undefined : Buffer.concat(pieces).subarray(0, HEAD_BYTES)
}

/** Which file it is, whatever its name: device and inode. */
export const identityOf = ({ dev, ino }: { dev: number; ino: number }): string => `${dev}:${ino}`
