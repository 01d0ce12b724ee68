import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { MemoryBudget } from '../../../src/core/memory/memory-budget.js'
import { HASH } from '../../../src/workers/assets/manifest.js'
import { UNTYPED } from '../../../src/workers/assets/types.js'
import type { UploadedFile } from '../../../src/workers/assets/uploads.js'
import { ApiError } from '../../http/errors.js'
import { declaredBoundary } from './multipart.js'

/** The content type that a client sends for a file that is to be served without a content type. */
const NO_TYPE = 'application/null'
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
/** A body is in memory twice: as it arrived, and as its parts. */
const COPIES = 2

export interface AssetFormOptions {
  /** Contents are base64, not the bytes themselves. */
  readonly base64: boolean
  readonly maxBytes: number
  readonly parts: number
  readonly memory: MemoryBudget
}

/**
 * Reads a form whose parts are files named by their hashes, and passes them to `use`. They count in the budget until
 * `use` has finished. Throws `badBody`, `badAssets`, `tooLarge` and `assetsBusy`.
 */
export async function withAssetForm<T>(
  request: IncomingMessage,
  { base64, maxBytes, parts, memory }: AssetFormOptions,
  use: (files: readonly UploadedFile[]) => Promise<T>,
): Promise<T> {
  const type = request.headers['content-type'] ?? ''
  const boundary = declaredBoundary(type)
  if (boundary === undefined)
    throw new ApiError('wrongType', undefined, 'the body must come as multipart/form-data, with a boundary')
  const length = Number(request.headers['content-length'] ?? maxBytes)
  if (length > maxBytes) throw tooLarge(maxBytes)
  const counted = length * COPIES
  if (!memory.take(counted)) throw new ApiError('assetsBusy', undefined, { headers: { 'retry-after': '2' } })
  try {
    const body = await wholeBody(request, length)
    assertPartCount(body, boundary, parts)
    return await use(await filesOf(body, type, base64))
  } finally {
    memory.give(counted)
  }
}

const tooLarge = (bytes: number) =>
  new ApiError('tooLarge', undefined, `the form is larger than ${bytes} bytes: send the files of one bucket`)

async function wholeBody(request: IncomingMessage, max: number): Promise<Buffer> {
  async function* bounded(): AsyncGenerator<Buffer> {
    let bytes = 0
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > max) throw tooLarge(max)
      yield chunk
    }
  }
  return await buffer(bounded())
}

/** A form is parsed in one turn of the event loop, which takes seconds with hundreds of thousands of parts. */
function assertPartCount(body: Buffer, boundary: string, max: number): void {
  const delimiter = Buffer.from(`--${boundary}`)
  let found = 0
  for (let at = body.indexOf(delimiter); at >= 0; at = body.indexOf(delimiter, at + delimiter.length)) {
    found += 1
    // The last one ends the form.
    if (found > max + 1) throw new ApiError('badBody', undefined, `a form has ${max} parts at most`)
  }
}

async function filesOf(body: Buffer, type: string, base64: boolean): Promise<UploadedFile[]> {
  const form = await new Response(body, { headers: { 'content-type': type } }).formData().catch((cause: unknown) => {
    throw new ApiError('badBody', undefined, { message: 'the form could not be read', cause })
  })
  const files: UploadedFile[] = []
  for (const [hash, part] of form) {
    if (!HASH.test(hash)) throw new ApiError('badAssets', undefined, `a part is named ${hash.slice(0, 100)}: no hash`)
    const bytes = typeof part === 'string' ? Buffer.from(part) : Buffer.from(await part.arrayBuffer())
    files.push({ hash, type: contentType(part, hash), bytes: base64 ? decoded(bytes, hash) : bytes })
  }
  return files
}

function contentType(part: string | File, hash: string): string | undefined {
  if (typeof part === 'string') return UNTYPED
  if (part.type === NO_TYPE) return undefined
  if (part.type.length > 255 || !/^[\x20-\x7e]*$/.test(part.type))
    throw new ApiError('badAssets', `/${hash}`, 'the content type is not one')
  return part.type
}

function decoded(bytes: Buffer, hash: string): Buffer {
  const text = bytes.toString('latin1').trim()
  if (!BASE64.test(text)) throw new ApiError('badAssets', `/${hash}`, 'the content is not base64')
  return Buffer.from(text, 'base64')
}
