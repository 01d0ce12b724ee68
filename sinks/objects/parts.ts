import type { BatchBody } from '../../src/core/sink.js'

/**
 * Splits a body into pieces of exactly `size` bytes. The last piece may be shorter. An empty body has no pieces. Pieces
 * are created one at a time.
 */
export async function* parts(body: BatchBody, size: number): AsyncGenerator<Buffer> {
  let part = Buffer.allocUnsafe(size)
  let filled = 0
  for await (const piece of body.read()) {
    let rest = piece
    while (rest.length > 0) {
      const taken = Math.min(rest.length, size - filled)
      part.set(rest.subarray(0, taken), filled)
      filled += taken
      rest = rest.subarray(taken)
      if (filled < size) continue
      yield part
      // The previous part may still be in use by the receiver.
      part = Buffer.allocUnsafe(size)
      filled = 0
    }
  }
  if (filled > 0) yield part.subarray(0, filled)
}
