import { createHash, type Hash } from 'node:crypto'
import { BlobLost, type Blobs } from '../../core/blobs.js'
import type { MemoryBudget } from '../../core/memory/memory-budget.js'
import type { StoredChunk } from '../../core/model/objects.js'
import { ObjectError } from './object-error.js'
import type { ByteRange } from './object-conditions.js'

/** Size of the blobs of an object. */
const CHUNK_BYTES = 4 * 1024 * 1024

/** Digests that clients can send with an object. */
export const DIGESTS = ['md5', 'sha1', 'sha256', 'sha384', 'sha512'] as const
export type Digest = (typeof DIGESTS)[number]

export interface WrittenBytes {
  readonly chunks: readonly StoredChunk[]
  readonly size: number
  /** Checksums in hexadecimal. `md5` is always present. */
  readonly checksums: Readonly<Record<string, string>>
}

export interface WriteOptions {
  readonly blobs: Blobs
  /** Memory of all writes in progress. */
  readonly memory: MemoryBudget
  readonly maxBytes: number
  /** Digests to compute in addition to MD5. */
  readonly digests: readonly Digest[]
}

/** Writes bytes as they arrive. They are durable when it resolves. */
export async function writeBytes(
  body: AsyncIterable<Uint8Array>,
  { blobs, memory, maxBytes, digests }: WriteOptions,
): Promise<WrittenBytes> {
  const hashes = new Map<string, Hash>([...new Set(['md5', ...digests])].map((name) => [name, createHash(name)]))
  const chunks: StoredChunk[] = []
  let pieces: Uint8Array[] = []
  let held = 0
  let size = 0
  const flush = async (): Promise<void> => {
    if (held === 0) return
    chunks.push({ blob: await blobs.put(Buffer.concat(pieces, held)), size: held })
    memory.give(held)
    pieces = []
    held = 0
  }
  try {
    for await (const piece of body) {
      size += piece.length
      if (size > maxBytes) throw new ObjectError('tooLarge', `an object has at most ${maxBytes} bytes`)
      for (const hash of hashes.values()) hash.update(piece)
      for (let at = 0; at < piece.length;) {
        const part = piece.subarray(at, at + CHUNK_BYTES - held)
        if (!memory.take(part.length))
          throw new ObjectError('busy', 'too many objects are being written; try again later')
        pieces.push(part)
        held += part.length
        at += part.length
        if (held === CHUNK_BYTES) await flush()
      }
    }
    await flush()
  } finally {
    memory.give(held)
  }
  return { chunks, size, checksums: Object.fromEntries([...hashes].map(([name, hash]) => [name, hash.digest('hex')])) }
}

/** Reads a part of the bytes, one blob in memory at a time. */
export async function* readBytes(
  blobs: Blobs,
  chunks: readonly StoredChunk[],
  { offset, length }: ByteRange,
): AsyncGenerator<Buffer> {
  let start = 0
  for (const { blob, size } of chunks) {
    const from = Math.max(offset - start, 0)
    const to = Math.min(offset + length - start, size)
    start += size
    if (from >= to) continue
    const bytes = await blobs.get(blob)
    if (!bytes) throw new BlobLost(blob, 'missing', 'an object')
    yield bytes.subarray(from, to)
  }
}
