import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import { ApiError } from '../http/errors.js'
import { KV_LIMITS } from '../../src/workers/storage/key-values.js'

/** Bytes of bodies that are being read, all together. */
const MAX_BUFFERED_BYTES = 256 * 1024 * 1024
let held = 0

/** A value as it was sent, and the text of its metadata. */
export interface SentValue {
  readonly bytes: Buffer
  readonly metadata?: string
}

/** Reads the body of `PUT .../values/{key}`: the value itself, or a form with the fields `value` and `metadata`. */
export async function sentValue(request: IncomingMessage): Promise<SentValue> {
  const pieces = new Pieces()
  try {
    const type = request.headers['content-type'] ?? ''
    if (/^multipart\/form-data\b/i.test(type)) return await fromForm(request, type, pieces)
    // The connection stays, so that a refusal reaches the sender.
    for await (const piece of request.iterator({ destroyOnReturn: false })) pieces.add(piece as Buffer)
    return { bytes: pieces.whole() }
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError('badBody', undefined, { cause: error })
  } finally {
    pieces.free()
  }
}

async function fromForm(request: IncomingMessage, type: string, pieces: Pieces): Promise<SentValue> {
  let metadata: string | undefined
  let found = false
  const form = new Busboy({
    headers: { 'content-type': type },
    // A file arrives in pieces; a field is decoded as one text.
    isPartAFile: (name) => name === 'value',
    limits: { parts: 4, headerPairs: 20, fieldSize: KV_LIMITS.value + 1, fileSize: KV_LIMITS.value + 1 },
  })
  const refused = new Promise<never>((_resolve, reject) => {
    const take = (piece: Buffer): void => {
      try {
        pieces.add(piece)
      } catch (error) {
        reject(error)
      }
    }
    form.on('file', (name, file) => {
      file.on('error', reject)
      if (name !== 'value') return void file.resume()
      found = true
      file.on('data', take)
    })
    form.on('field', (name, text) => {
      if (name === 'metadata') metadata = text
    })
    form.on('error', reject)
    request.once('error', reject)
  })
  try {
    await Promise.race([finished(request.pipe(form)), refused])
  } finally {
    request.unpipe(form)
  }
  if (!found) throw new ApiError('badValue', '/value', 'is required')
  return { bytes: pieces.whole(), ...(metadata !== undefined && { metadata }) }
}

/** Bytes of one body, counted against what one value and all bodies may have. */
class Pieces {
  readonly #pieces: Buffer[] = []
  #size = 0

  add(piece: Buffer): void {
    if (this.#size + piece.length > KV_LIMITS.value)
      throw new ApiError('valueTooLarge', undefined, `a value has at most ${KV_LIMITS.value} bytes`)
    if (held + piece.length > MAX_BUFFERED_BYTES)
      throw new ApiError('unavailable', undefined, {
        message: 'too many values are being read; try again later',
        headers: { 'retry-after': '5' },
      })
    this.#size += piece.length
    held += piece.length
    this.#pieces.push(piece)
  }

  whole(): Buffer {
    return Buffer.concat(this.#pieces, this.#size)
  }

  free(): void {
    held -= this.#size
    this.#size = 0
  }
}
