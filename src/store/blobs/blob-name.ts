import { createHash } from 'node:crypto'
import { BlobLost } from '../../core/blobs.js'

/** Name of a blob, which is the SHA-256 of its bytes in hexadecimal. */
export const blobName = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Returns whether a text is a valid name of a blob. */
export const isBlobName = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

/** Returns the bytes. Throws if the name is not their hash. */
export function intact(name: string, bytes: Buffer): Buffer {
  if (blobName(bytes) !== name) throw new BlobLost(name, 'damaged')
  return bytes
}
