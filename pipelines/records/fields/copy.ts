import { BACKSLASH } from '../../../src/core/bytes.js'

/** From this number of bytes on, `set` with a view of its own is faster. */
const LONG_BYTES = 128

/**
 * Copies the bytes from `start` to `end` to `at`, and returns their new end. Copies four at a time, because a loop over
 * single bytes takes twice as long.
 */
export function copyBytes(source: DataView, start: number, end: number, target: DataView, at: number): number {
  const length = end - start
  if (length > LONG_BYTES) setBytes(source, start, length, target, at)
  else if (length >= 4) {
    const last = length - 4
    for (let i = 0; i < last; i += 4) target.setInt32(at + i, source.getInt32(start + i))
    // The last four bytes may overlap the four before.
    target.setInt32(at + last, source.getInt32(start + last))
  } else for (let i = 0; i < length; i++) target.setUint8(at + i, source.getUint8(start + i))
  return at + length
}

/** Copies like {@link copyBytes}, but only the bytes before the first backslash. */
export function copyPlain(source: DataView, start: number, end: number, target: DataView, at: number): number {
  const offset = at - start
  let from = start
  for (; from + 4 <= end; from += 4) {
    const word = source.getInt32(from)
    if (hasBackslash(word)) break
    target.setInt32(from + offset, word)
  }
  for (; from < end; from++) {
    const byte = source.getUint8(from)
    if (byte === BACKSLASH) break
    target.setUint8(from + offset, byte)
  }
  return from + offset
}

/** Returns whether one of four bytes is a backslash, which is 0 after the exclusive or. */
function hasBackslash(word: number): boolean {
  const zero = word ^ 0x5c5c5c5c
  return ((zero - 0x01010101) & ~zero & 0x80808080) !== 0
}

function setBytes(source: DataView, start: number, length: number, target: DataView, at: number): void {
  const bytes = new Uint8Array(source.buffer, source.byteOffset + start, length)
  new Uint8Array(target.buffer, target.byteOffset + at, length).set(bytes)
}

/** A view of bytes. */
export const viewOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength)
