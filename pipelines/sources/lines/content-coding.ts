import { pipeline, Readable, type Duplex } from 'node:stream'
import * as zlib from 'node:zlib'
import { metered } from '../../../src/core/schedule/intake-limits.js'

/** A request has a content coding that cannot be decoded. */
export class UnknownCoding extends Error {
  override readonly name = 'UnknownCoding'
}

type Decoder = () => Duplex

/** Decoders by content coding (RFC 9110, 8.4.1). */
export const CODINGS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', () => zlib.createGunzip()],
  ['deflate', () => zlib.createInflate()],
  ['br', () => zlib.createBrotliDecompress()],
  ...zstd(),
])

/** Node has Zstandard from version 22.15 on. */
function zstd(): [string, Decoder][] {
  const { createZstdDecompress: create } = zlib as { createZstdDecompress?: Decoder }
  return create === undefined ? [] : [['zstd', create]]
}

/** More codings of one body are not meant to be read. */
const MAX_CODINGS = 2

/**
 * Returns a body without its content codings. Throws UnknownCoding. Reading rejects with IntakeLimit if the body has
 * more than `maxBytes` after any decoding step.
 */
export function decoded(
  body: AsyncIterable<Uint8Array>,
  header: string | undefined,
  maxBytes: number,
): AsyncIterable<Uint8Array> {
  const names = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim().replace(/^x-gzip$/, 'gzip'))
    .filter((name) => name !== '' && name !== 'identity')
  if (names.length > MAX_CODINGS) throw new UnknownCoding(`more than ${MAX_CODINGS} content codings`)
  let text = body
  for (const name of names.toReversed()) {
    const decoder = CODINGS.get(name)?.()
    if (decoder === undefined)
      throw new UnknownCoding(`cannot decode this Content-Encoding; use ${[...CODINGS.keys()].join(', ')} or none`)
    // The reader gets the error of either stream.
    pipeline(Readable.from(text), decoder, () => {})
    text = metered(decoder, maxBytes)
  }
  return text
}

/** Whether an error is one of a body that cannot be decoded. */
export const isDecodingError = (error: unknown): boolean =>
  /^(Z_|ERR_BROTLI|ERR__ERROR|ZSTD_)/.test(String((error as NodeJS.ErrnoException).code))
