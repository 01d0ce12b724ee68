import { createBrotliDecompress, createGunzip, createInflate, type BrotliDecompress, type Gunzip } from 'node:zlib'

/** Bytes of a response body that are stored as text. */
const MAX_TEXT_BYTES = 1024

/** Decoders by content coding. A response need not be complete, nor decodable to its end. */
const DECODERS: ReadonlyMap<string, () => Gunzip | BrotliDecompress> = new Map<string, () => Gunzip | BrotliDecompress>(
  [
    ['gzip', createGunzip],
    ['x-gzip', createGunzip],
    ['deflate', createInflate],
    ['br', createBrotliDecompress],
  ],
)

/**
 * Returns the first KiB of a response body as text. Decodes the body if a receiver compressed it, which some do although
 * no request asks for it.
 */
export async function responseText(chunks: readonly Buffer[], encoding = ''): Promise<string> {
  const body = Buffer.concat(chunks)
  const coding = encoding.trim().toLowerCase()
  if (coding === '' || coding === 'identity' || body.length === 0) return text(body)
  const decoder = DECODERS.get(coding)
  return decoder ? text(await decoded(body, decoder())) : `(${body.length} bytes with content-encoding ${coding})`
}

/** Decodes the text and leaves out a character that the limit cuts in two. */
const text = (bytes: Buffer): string => new TextDecoder().decode(bytes.subarray(0, MAX_TEXT_BYTES), { stream: true })

/** Decodes at most as much as is stored, so that a small body that grows to gigabytes costs nothing. */
async function decoded(body: Buffer, decoder: Gunzip | BrotliDecompress): Promise<Buffer> {
  return await new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const finish = () => {
      decoder.destroy()
      resolve(Buffer.concat(chunks))
    }
    decoder.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length >= MAX_TEXT_BYTES) finish()
    })
    decoder.once('end', finish)
    decoder.on('error', finish)
    decoder.end(body)
  })
}
