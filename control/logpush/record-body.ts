import type { IncomingMessage } from 'node:http'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { arrayLines } from '../../pipelines/sources/array-lines.js'
import { ApiError } from '../errors.js'
import { isBlank } from './record-lines.js'

type Pieces = AsyncIterator<Uint8Array, unknown>

/** The records of a request as lines, in pieces. */
export interface RecordBody {
  /** Lines before the first piece; they are blank. */
  readonly before: number
  readonly pieces: AsyncIterable<Uint8Array>
}

const OPEN_BRACKET = 0x5b
const LINE_FEED = 0x0a
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

/**
 * Reads a body of records piece by piece: lines, or one JSON array, whose elements become lines; plain or gzip, by
 * Content-Encoding or by its first bytes. An element of an array with more than `most` bytes becomes a line that is too long.
 */
export async function recordBody(request: IncomingMessage, most: number): Promise<RecordBody> {
  // An answer is due even where reading ends early: the connection stays.
  const raw = request.iterator({ destroyOnReturn: false }) as Pieces
  const { before, first, rest } = await beginning(await unpacked(raw, request.headers['content-encoding']))
  const pieces = joined(first, rest)
  return first[0] === OPEN_BRACKET ? { before: 0, pieces: arrayLines(pieces, most) } : { before, pieces }
}

async function unpacked(raw: Pieces, encoding = 'identity'): Promise<Pieces> {
  const declared = encoding.toLowerCase().trim()
  if (!['', 'identity', 'gzip', 'x-gzip'].includes(declared))
    throw new ApiError('wrongType', undefined, 'the content encoding must be gzip or identity')
  const head = await atLeast(raw, 2)
  const chunks = joined(head, raw)
  const packed = head[0] === 0x1f && head[1] === 0x8b
  if (declared.endsWith('gzip') && !packed && head.length > 0)
    throw new ApiError('badRecords', undefined, 'the body is not gzip')
  if (!packed) return chunks[Symbol.asyncIterator]()
  const gunzip = createGunzip({ chunkSize: 64 * 1024 })
  // Whoever reads is told of an error by what it reads.
  pipeline(Readable.from(chunks, { objectMode: false }), gunzip, () => undefined)
  return gunzip[Symbol.asyncIterator]() as Pieces
}

async function atLeast(pieces: Pieces, bytes: number): Promise<Uint8Array> {
  let head: Uint8Array = new Uint8Array(0)
  while (head.length < bytes) {
    const next = await pieces.next()
    if (next.done) break
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value])
  }
  return head
}

/** Passes over a byte order mark and blank lines; `first` begins with what is no white space, or is empty. */
async function beginning(pieces: Pieces): Promise<{ before: number; first: Uint8Array; rest: Pieces }> {
  let before = 0
  let piece = await atLeast(pieces, BYTE_ORDER_MARK.length)
  if (BYTE_ORDER_MARK.every((byte, at) => piece[at] === byte)) piece = piece.subarray(BYTE_ORDER_MARK.length)
  for (;;) {
    let at = 0
    while (at < piece.length && isBlank(piece[at]!)) if (piece[at++] === LINE_FEED) before++
    if (at < piece.length) return { before, first: piece.subarray(at), rest: pieces }
    const next = await pieces.next()
    if (next.done) return { before, first: new Uint8Array(0), rest: pieces }
    piece = next.value
  }
}

async function* joined(first: Uint8Array, rest: Pieces): AsyncGenerator<Uint8Array> {
  if (first.length > 0) yield first
  try {
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
