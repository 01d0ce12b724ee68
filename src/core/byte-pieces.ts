/** Small enough that the shortest lines of a piece are read in a few milliseconds. */
const PIECE_BYTES = 16 * 1024

/** Returns the parts of a chunk, between which its reader can yield to the event loop. */
export function* bytePieces<T extends Uint8Array>(chunk: T): Generator<T> {
  if (chunk.length <= PIECE_BYTES) return yield chunk
  for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES) as T
}
