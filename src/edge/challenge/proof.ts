import { createHash } from 'node:crypto'

/**
 * Whether `nonce` proves work: SHA-256 of `<id>.<nonce>` begins with `bits` zero bits, which takes about 2^bits tries to
 * find and one to check. `id` has 22 characters, the nonce at most 16, so that the text is one block of the hash.
 */
export function provesWork(id: string, nonce: string, bits: number): boolean {
  if (!/^\d{1,16}$/.test(nonce)) return false
  const first = createHash('sha256').update(`${id}.${nonce}`, 'latin1').digest().readUInt32BE(0)
  return Math.clz32(first) >= bits
}
