import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Busboy } from '@fastify/busboy'
import { InvalidInput } from '../../../src/core/errors.js'
import { EventLoopYield, type Pause } from '../../../src/core/schedule/event-loop-yield.js'
import { parseScanned, scanJson } from '../../../src/core/json/json-slices.js'
import type { MemoryBudget } from '../../../src/core/memory/memory-budget.js'
import type { FormPart } from '../../../src/workers/upload/form.js'
import { ApiError } from '../../http/errors.js'
import { assertNotHostile, MAX_DEPTH } from '../../http/json-limits.js'

export interface FormLimits {
  /** Of the whole body. */
  readonly bytes: number
  readonly parts: number
  /** What all forms that are read at the same time share. */
  readonly memory: MemoryBudget
}

/** RFC 2046, 5.1.1. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/
/** `--`, a boundary, and the white space that may follow it. */
const MAX_FIRST_LINE_LENGTH = 2 + 70 + 16
const LINE_FEED = 0x0a
const MAX_JSON_BYTES = 10_000_000
/** Parts that are JSON. */
const DOCUMENTS: ReadonlySet<string> = new Set(['metadata', 'settings'])
/** A longer one is parsed in slices, within limits: what follows reads each member in one turn of the event loop. */
const MAX_SHORT_BYTES = 64 * 1024
const DOCUMENT_LIMITS = { depth: MAX_DEPTH, members: 10_000, values: 50_000 }
const slices = new EventLoopYield()
const pause: Pause = () => slices.yieldToEventLoop()

/**
 * Reads a multipart body into memory and passes its parts to `use`. They count in the budget until `use` has finished.
 * The body is recognized by its header, or by its first line if the header lacks a boundary or names another type. A
 * JSON body of a script is a form of metadata alone. Throws `wrongType`, `badBody`, `tooLarge`, and `unavailable` if
 * the budget is exhausted.
 */
export async function withForm<T>(
  request: IncomingMessage,
  limits: FormLimits,
  use: (parts: readonly FormPart[]) => Promise<T>,
): Promise<T> {
  const body = new CountedBody(request, limits)
  try {
    const parts = await readParts(request, body, limits.parts)
    return await use(await Promise.all(parts.map(async (part) => (isLongDocument(part) ? await readPart(part) : part))))
  } finally {
    body.release()
  }
}

const isLongDocument = ({ name, bytes }: FormPart): boolean => DOCUMENTS.has(name) && bytes.length > MAX_SHORT_BYTES

async function readPart(part: FormPart): Promise<FormPart> {
  return { ...part, json: await longJson(part.bytes, `the ${part.name}`) }
}

/** Parses JSON in slices. Throws `badBody`; its message does not quote the text, which may hold secrets. */
async function longJson(bytes: Buffer, what: string): Promise<unknown> {
  if (!isUtf8(bytes)) throw new ApiError('badBody', undefined, `${what} is not UTF-8`)
  const scan = await scanJson(bytes, DOCUMENT_LIMITS, pause)
  if (scan.excess !== undefined) throw new ApiError('badBody', undefined, `${what} ${scan.excess}`)
  try {
    return await parseScanned(bytes, scan, pause)
  } catch {
    throw new ApiError('badBody', undefined, `${what} is not JSON`)
  }
}

async function readParts(request: IncomingMessage, body: CountedBody, max: number): Promise<FormPart[]> {
  const coding = request.headers['content-encoding'] ?? 'identity'
  if (coding !== 'identity') throw new ApiError('wrongType', undefined, 'the form must come without a content encoding')
  const type = request.headers['content-type'] ?? ''
  const parts: FormPart[] = []
  try {
    const declared = declaredBoundary(type)
    const line = declared === undefined ? await body.firstLine() : ''
    if (isJson(line, type)) return await jsonParts(body)
    const boundary = declared ?? firstLineBoundary(line, type)
    const busboy = new Busboy({
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
      isPartAFile: () => true,
      preservePath: true,
      limits: { parts: max, headerPairs: 32, headerSize: 16 * 1024 },
    })
    const reject = (message: string): void => void busboy.destroy(new ApiError('badBody', undefined, message))
    busboy.once('partsLimit', () => reject(`a form has ${max} parts at most`))
    busboy.on('file', (name: string | undefined, stream, filename: string | undefined, _encoding, type) => {
      if (name === undefined) return reject('a part of the form has no name')
      collect(stream, (bytes) => parts.push({ name, ...(filename !== undefined && { filename }), type, bytes }))
    })
    await pipeline(body.chunks(), busboy)
  } catch (error) {
    if (error instanceof ApiError || error instanceof InvalidInput) throw error
    // A form that ends early, or a sender that goes away.
    throw new ApiError('badBody', undefined, { message: 'the form could not be read to its end', cause: error })
  }
  return parts
}

/** The official SDK sends a form without files as JSON, by the name of a script. */
const isJson = (line: string, type: string): boolean =>
  line.startsWith('{') && /^\s*application\/javascript\s*(;|$)/i.test(type)

async function jsonParts(body: CountedBody): Promise<FormPart[]> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body.chunks()) {
    bytes += chunk.length
    if (bytes > MAX_JSON_BYTES)
      throw new ApiError('tooLarge', undefined, `the JSON body is larger than ${MAX_JSON_BYTES} bytes`)
    chunks.push(chunk)
  }
  // It begins with a brace.
  const form = (await longJson(Buffer.concat(chunks), 'the JSON body')) as Record<string, unknown>
  assertNotHostile(form)
  const { metadata, files = [], ...others } = form
  if (metadata === undefined || Object.keys(others).length > 0 || !Array.isArray(files) || files.length > 0)
    throw new ApiError('badBody', undefined, 'a JSON body holds metadata alone: modules come as parts of a form')
  return [{ name: 'metadata', type: 'application/json', bytes: Buffer.from(JSON.stringify(metadata)) }]
}

function collect(stream: Readable, done: (bytes: Buffer) => void): void {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.once('end', () => done(Buffer.concat(chunks)))
  // The form as a whole fails, and says so.
  stream.on('error', () => undefined)
}

/** Returns the boundary in a content type, or undefined. Throws `badBody` if it is not valid. */
export function declaredBoundary(type: string): string | undefined {
  if (!/^\s*multipart\/form-data\s*(;|$)/i.test(type)) return undefined
  const [, quoted, plain] = /;\s*boundary=(?:"([^"\\]*)"|([^\s;"]+))/i.exec(type) ?? []
  const boundary = quoted ?? plain
  if (boundary !== undefined && !BOUNDARY.test(boundary))
    throw new ApiError('badBody', undefined, 'the boundary of the form is not one')
  return boundary
}

function firstLineBoundary(line: string, type: string): string {
  const boundary = line.startsWith('--') ? line.slice(2).trimEnd() : ''
  if (BOUNDARY.test(boundary)) return boundary
  if (/^\s*multipart\/form-data/i.test(type))
    throw new ApiError('badBody', undefined, 'the form has no boundary, neither in its header nor in its first line')
  throw new ApiError('wrongType', undefined, 'the body must come as multipart/form-data')
}

/** The body of a request, counted as it comes in. */
class CountedBody {
  readonly #request: IncomingMessage
  readonly #limits: FormLimits
  readonly #source: AsyncIterator<Buffer>
  #begun: Buffer[] = []
  #taken = 0

  constructor(request: IncomingMessage, limits: FormLimits) {
    this.#request = request
    this.#limits = limits
    // The connection must stay open for the response if a body is rejected midway.
    this.#source = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  }

  /** The first line without its end; only the beginning of a line that is longer than a boundary. */
  async firstLine(): Promise<string> {
    for (;;) {
      const bytes = Buffer.concat(this.#begun)
      const end = bytes.indexOf(LINE_FEED)
      if (end >= 0 || bytes.length > MAX_FIRST_LINE_LENGTH)
        return bytes.toString('latin1', 0, end >= 0 ? end : MAX_FIRST_LINE_LENGTH)
      const chunk = await this.#next()
      if (!chunk) return bytes.toString('latin1')
      this.#begun = [bytes, chunk]
    }
  }

  /** All of the body. */
  async *chunks(): AsyncGenerator<Buffer> {
    if (Number(this.#request.headers['content-length'] ?? 0) > this.#limits.bytes) throw this.#tooLarge()
    yield* this.#begun
    this.#begun = []
    for (let chunk = await this.#next(); chunk; chunk = await this.#next()) yield chunk
  }

  release(): void {
    this.#limits.memory.give(this.#taken)
    this.#taken = 0
  }

  async #next(): Promise<Buffer | undefined> {
    const { done, value } = await this.#source.next()
    if (done === true) return undefined
    if (this.#taken + value.length > this.#limits.bytes) throw this.#tooLarge()
    if (!this.#limits.memory.take(value.length))
      throw new ApiError('uploadsBusy', undefined, { headers: { 'retry-after': '5' } })
    this.#taken += value.length
    return value
  }

  #tooLarge(): ApiError {
    return new ApiError('tooLarge', undefined, `the form is larger than ${this.#limits.bytes} bytes`)
  }
}
