/**
 * CRC-32 of two concatenated texts, calculated from their checksums (RFC 1952, 8), as in zlib. A checksum is a
 * polynomial over GF(2), highest coefficient last. A byte after a text multiplies its checksum by x^8 modulo the CRC
 * polynomial.
 */
const POLYNOMIAL = 0xedb88320
const ONE = 0x8000_0000

function product(a: number, b: number): number {
  let sum = 0
  let factor = b
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if (a & bit) sum ^= factor
    factor = factor & 1 ? (factor >>> 1) ^ POLYNOMIAL : factor >>> 1
  }
  return sum >>> 0
}

/** Factors for 1, 2, 4 bytes and so on, which are x^8, x^16, x^32 and so on. */
const POWERS = [0x0080_0000]
for (let i = 1; i < 53; i++) POWERS.push(product(POWERS[i - 1]!, POWERS[i - 1]!))

/**
 * Returns the checksum of two concatenated texts. The first has checksum `first`, the second has checksum `second` and
 * `length` bytes.
 */
export function joinedCrc(first: number, second: number, length: number): number {
  let crc = first
  let left = length
  for (let power = 0; left > 0; power++) {
    if (left % 2 === 1) crc = product(crc, POWERS[power]!)
    left = Math.floor(left / 2)
  }
  return (crc ^ second) >>> 0
}
