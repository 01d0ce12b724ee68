import type { Span } from './conditions.js'
import type { Piece } from './delivery.js'

/** Returns the value of Content-Range for a part of a response. */
export const rangeText = ({ from, to }: Span, length: number): string => `bytes ${from}-${to - 1}/${length}`

/** Returns the pieces of a response with several ranges (RFC 9110, 14.6), and the bytes of all together. */
export function multipart(
  parts: readonly Span[],
  length: number,
  contentType: string | undefined,
): { pieces: Piece[]; bytes: number; boundary: string } {
  const boundary = `edged-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`
  const type = contentType === undefined ? '' : `content-type: ${contentType}\r\n`
  const pieces: Piece[] = []
  let bytes = 0
  const text = (value: string) => {
    const piece = Buffer.from(value, 'latin1')
    pieces.push(piece)
    bytes += piece.length
  }
  parts.forEach((part, i) => {
    text(`${i === 0 ? '' : '\r\n'}--${boundary}\r\n${type}content-range: ${rangeText(part, length)}\r\n\r\n`)
    pieces.push(part)
    bytes += part.to - part.from
  })
  text(`\r\n--${boundary}--\r\n`)
  return { pieces, bytes, boundary }
}
