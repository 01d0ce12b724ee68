import { createHash } from 'node:crypto'

/** Name of a blob: the SHA-256 of its bytes, hexadecimal. */
export const blobName = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Returns whether a text is a valid name of a blob. */
export const isBlobName = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

/** Returns the bytes. Throws if the name is not their hash. */
export function intact(name: string, bytes: Buffer): Buffer {
  if (blobName(bytes) !== name) throw new Error(`the blob ${name} is damaged; restore it from a backup`)
  return bytes
}
