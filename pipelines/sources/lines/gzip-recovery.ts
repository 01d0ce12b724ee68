import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { isDecodingError } from './content-coding.js'

/** Maximum bytes of text lost before damage, in an input of more than {@link KEPT_BYTES}. */
const CHUNK_BYTES = 1 << 16
/** Inputs up to this size are decompressed again if they are damaged, so that no text before the damage is lost. */
const KEPT_BYTES = 1 << 20
/** Sizes of the pieces of the second and third attempt, around the damage. */
const FINE_BYTES = [1024, 1] as const

/** Yields the text of concatenated gzip streams. Rejects with the error of zlib after the text before damage. */
export async function* gunzipped(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const kept: Uint8Array[] = []
  const state: Decompression = { given: 0, taken: 0 }
  try {
    yield* decompressed(keeping(input, kept), state)
  } catch (error) {
    if (kept.length > 0 && isDecodingError(error)) yield* salvaged(kept, state)
    throw error
  }
}

interface Decompression {
  /** Bytes of text that were returned. */
  given: number
  /** Bytes of the input before the piece that is being decompressed. */
  taken: number
}

/** Collects pieces of the input, as long as it is small. */
async function* keeping(input: AsyncIterable<Uint8Array>, kept: Uint8Array[]): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of input) {
    bytes += piece.length
    if (bytes <= KEPT_BYTES) kept.push(piece)
    else kept.length = 0
    yield piece
  }
}

async function* decompressed(pieces: AsyncIterable<Uint8Array>, state: Decompression): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
  // The reader gets the error of either stream.
  pipeline(Readable.from(pieces), gunzip, () => {})
  try {
    for await (const text of gunzip as AsyncIterable<Uint8Array>) {
      state.given += text.length
      yield text
    }
  } catch (error) {
    // Text that the stream buffers when it fails, which its iterator drops.
    const rest = gunzip.read() as Uint8Array | null
    state.given += rest?.length ?? 0
    state.taken = gunzip.bytesWritten
    if (rest !== null) yield rest
    throw error
  }
}

/** Yields the text between the returned text and the damage. zlib drops the output of the piece that it fails on. */
async function* salvaged(kept: readonly Uint8Array[], failed: Decompression): AsyncGenerator<Uint8Array> {
  const input = Buffer.concat(kept)
  let from = failed.taken
  let to = input.length
  for (const size of FINE_BYTES) {
    const state: Decompression = { given: 0, taken: 0 }
    let skip = failed.given
    try {
      for await (const text of decompressed(pieces(input, { from, to, size }), state)) {
        if (skip < text.length) {
          yield text.subarray(skip)
          failed.given += text.length - skip
        }
        skip = Math.max(0, skip - text.length)
      }
    } catch {
      // The caller throws the error of the first attempt, which is the same.
    }
    from = state.taken
    to = Math.min(to, from + 2 * size)
  }
}

/** Cuts an input into small pieces between two places. */
async function* pieces(
  input: Uint8Array,
  { from, to, size }: { from: number; to: number; size: number },
): AsyncGenerator<Uint8Array> {
  if (from > 0) yield input.subarray(0, from)
  for (let at = from; at < to; at += size) yield input.subarray(at, Math.min(to, at + size))
  if (to < input.length) yield input.subarray(to)
}
