import type { BatchBody } from '../../src/core/sink.js'

/** A body in pieces of exactly `size` bytes, but for the last one; none for an empty body. Made one at a time. */
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
      // The one that was given away may still be on its way.
      part = Buffer.allocUnsafe(size)
      filled = 0
    }
  }
  if (filled > 0) yield part.subarray(0, filled)
}
