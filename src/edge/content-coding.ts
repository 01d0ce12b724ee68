import type { Transform } from 'node:stream'
import zlib from 'node:zlib'

/** Undoes one content coding. It fails on data that is broken, cut short, or has a wrong checksum. */
export type Decoder = Transform

type MakeDecoder = (firstBytes: Uint8Array) => Decoder

// What `deflate` names is zlib's format (RFC 9110, 8.4.1.2); some servers send the bare stream all the same. A bare
// stream cannot begin with a valid zlib header: its first block would be a stored one with padding that is not zero.
const inflate: MakeDecoder = ([method = 0, flags]) => {
  const isZlib = (method & 0x0f) === 8 && (flags === undefined || ((method << 8) | flags) % 31 === 0)
  return isZlib ? zlib.createInflate() : zlib.createInflateRaw()
}

/** Content codings that can be undone, by their names in `Content-Encoding`. */
export const CODINGS: ReadonlyMap<string, MakeDecoder> = new Map<string, MakeDecoder>([
  ['gzip', () => zlib.createGunzip()],
  ['x-gzip', () => zlib.createGunzip()],
  ['deflate', inflate],
  ['br', () => zlib.createBrotliDecompress()],
  ...zstd(),
])

/** Where this Node has it (22.15 and newer). */
function zstd(): [string, MakeDecoder][] {
  const make = (zlib as { createZstdDecompress?: () => Decoder }).createZstdDecompress
  return make ? [['zstd', () => make()]] : []
}

/** More of them on one answer are not undone: nobody has a reason to send them. */
const MAX_CODINGS = 3

/**
 * The codings of an answer in the order in which they are undone, `identity` left out; undefined where there are too
 * many or one is unknown.
 */
export function codingsToUndo(contentEncoding: string): string[] | undefined {
  const codings: string[] = []
  for (const member of contentEncoding.split(',')) {
    const coding = member.trim().toLowerCase()
    if (coding === '' || coding === 'identity') continue
    if (!CODINGS.has(coding) || codings.length === MAX_CODINGS) return undefined
    codings.unshift(coding)
  }
  return codings
}
