import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import { Type } from 'typebox'
import { pointerToken } from '../../src/core/schema.js'
import { UploadRefused } from '../../src/workers/upload-errors.js'
import { unflatten } from '../../src/workers/upload/form-metadata.js'
import { ApiError } from '../http/errors.js'
import { KV_LIMITS } from '../../src/workers/storage/key-values.js'

const MAX_PARTS = 100
/** More than metadata may have, so that its own message says so. */
const MAX_FIELD_BYTES = 16 * KV_LIMITS.metadata
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
  const fields: Field[] = []
  let found = false
  const form = new Busboy({
    headers: { 'content-type': type },
    // A file arrives in pieces; a field is decoded as one text.
    isPartAFile: (name) => name === 'value',
    limits: { parts: MAX_PARTS, headerPairs: 20, fieldSize: MAX_FIELD_BYTES, fileSize: KV_LIMITS.value + 1 },
  })
  const refused = new Promise<never>((_resolve, reject) => {
    const take = (piece: Buffer): void => {
      try {
        pieces.add(piece)
      } catch (error) {
        reject(error)
      }
    }
    form.on('file', (_name, file) => {
      file.on('error', reject)
      if (found) reject(new ApiError('badValue', '/value', 'is given twice'))
      found = true
      file.on('data', take)
    })
    form.on('field', (name, text) => {
      if (name === 'metadata' || name.startsWith('metadata[')) fields.push({ name, text })
      else
        reject(
          new ApiError('badValue', `/${pointerToken(name)}`, 'is not a field of this form: it has value and metadata'),
        )
    })
    form.on('partsLimit', () => reject(new ApiError('badBody', undefined, `a form has at most ${MAX_PARTS} parts`)))
    form.on('error', reject)
    request.once('error', reject)
  })
  try {
    await Promise.race([finished(request.pipe(form)), refused])
  } finally {
    request.unpipe(form)
  }
  if (!found) throw new ApiError('badValue', '/value', 'is required')
  const metadata = metadataOf(fields)
  return { bytes: pieces.whole(), ...(metadata !== undefined && { metadata }) }
}

interface Field {
  readonly name: string
  readonly text: string
}

/** Returns the JSON of the metadata: one field, or a field for each of its members as in `metadata[tag]`. */
function metadataOf(fields: readonly Field[]): string | undefined {
  const [first] = fields
  if (!first) return undefined
  if (first.name === 'metadata' && fields.length === 1) return first.text
  if (fields.some(({ name }) => name === 'metadata')) throw new ApiError('badValue', '/metadata', 'is given twice')
  try {
    const members = fields.map(({ name, text }) => ({ name, bytes: Buffer.from(text) }))
    return JSON.stringify(unflatten('metadata', members, Type.Unknown()), (_name, value: unknown) => typed(value))
  } catch (error) {
    if (error instanceof UploadRefused) throw new ApiError('badValue', '/metadata', error.message)
    throw error
  }
}

/** Returns the number or boolean that a text represents: clients send all values of a form as texts. */
function typed(value: unknown): unknown {
  if (value === 'true' || value === 'false') return value === 'true'
  return typeof value === 'string' && String(Number(value)) === value && Number.isFinite(Number(value))
    ? Number(value)
    : value
}

/** Bytes of one body, counted against the limits of one value and of all bodies. */
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
