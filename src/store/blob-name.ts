import { createHash } from 'node:crypto'

/** What a blob is called: the SHA-256 of its bytes, hexadecimal. */
export const blobName = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Whether a text can be the name of a blob. */
export const isBlobName = (text: string): boolean => /^[0-9a-f]{64}$/.test(text)

/** The bytes, if they are those of the name; throws where they are not. */
export function intact(name: string, bytes: Buffer): Buffer {
  if (blobName(bytes) !== name) throw new Error(`the blob ${name} is damaged; restore it from a backup`)
  return bytes
}
