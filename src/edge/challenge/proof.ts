import { createHash } from 'node:crypto'

/**
 * Returns whether `nonce` proves work: SHA-256 of `<id>.<nonce>` begins with `bits` zero bits, which needs about 2^bits
 * attempts to find and one to check. `id` has 22 characters, the nonce at most 16, so that the string fits into one
 * block of the hash.
 */
export function provesWork(id: string, nonce: string, bits: number): boolean {
  if (!/^\d{1,16}$/.test(nonce)) return false
  const first = createHash('sha256').update(`${id}.${nonce}`, 'latin1').digest().readUInt32BE(0)
  return Math.clz32(first) >= bits
}
