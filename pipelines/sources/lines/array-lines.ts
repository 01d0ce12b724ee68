/**
 * Splits one JSON array of any size into lines. Each element becomes a line with its original JSON text (RFC 8259),
 * except for white space and escapes. Memory stays bounded for any input.
 */
import { jsonParser, type Token } from 'stream-json/parser.js'
import type { Pause } from '../../../src/core/schedule/event-loop-yield.js'

/** The input is not one well-formed JSON array. */
export class MalformedArray extends Error {
  override readonly name = 'MalformedArray'
}

/** Elements may be as deep as records, and the array is one more. */
const MAX_DEPTH = 65
/** Maximum text that is parsed between two pauses. Each character can be a value. */
const PART_LENGTH = 2048
/** Lines are passed on in pieces of at least this length. */
const PIECE_LENGTH = 4096

/**
 * Yields the elements of an array as NDJSON, in pieces that follow the pieces of the input. An element of more than
 * `most` bytes is cut after them, so its line is too long for the reader of lines. Rejects with {@link MalformedArray},
 * which has the number of elements so far. `pause` is called between the parts of a chunk.
 */
export async function* arrayLines(
  input: AsyncIterable<Uint8Array>,
  max: number,
  pause?: Pause,
): AsyncGenerator<Uint8Array> {
  const writer = new LineWriter(max)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const read = jsonParser({ packValues: false, streamValues: true })
  // Text before an error must reach the reader. The error follows.
  const lines = function* (text: string, minLength = 0): Generator<Uint8Array> {
    let wrong: unknown
    try {
      const found = read(text)
      // Nothing is a symbol here.
      if (typeof found === 'object' && 'values' in found) for (const token of found.values) writer.token(token)
    } catch (error) {
      wrong = error
    }
    if (writer.length > 0 && (writer.length >= minLength || wrong !== undefined)) yield writer.take()
    if (wrong !== undefined)
      throw new MalformedArray(`the array cannot be read as JSON ${writer.place}`, { cause: wrong })
  }
  const decode = (bytes?: Uint8Array): string => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
    } catch {
      throw new MalformedArray(`the array is not UTF-8 ${writer.place}`)
    }
  }
  for await (const chunk of input) {
    let length = 0
    for (const part of parts(decode(chunk))) {
      yield* lines(part, PIECE_LENGTH)
      length += part.length
      if (pause === undefined || length < PART_LENGTH) continue
      length = 0
      await pause()
    }
    if (writer.length > 0) yield writer.take()
  }
  yield* lines(decode())
  if (!writer.complete) throw new MalformedArray(`the array ends midway ${writer.place}`)
}

/**
 * Cuts text after each object, and long text anywhere. If a part has an error, the parser drops everything that it has
 * read of this part.
 */
function* parts(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const close = text.indexOf('}', at) + 1
    const end = Math.min(close === 0 ? text.length : close, at + PART_LENGTH)
    yield text.slice(at, end)
    at = end
  }
}

/** Writes tokens as JSON text again. */
class LineWriter {
  readonly #max: number
  #text = ''
  /** Length of the element so far. */
  #length = 0
  #depth = 0
  #elements = 0
  #comma = false
  #started = false

  constructor(max: number) {
    this.#max = max
  }

  get complete(): boolean {
    return this.#started && this.#depth === 0
  }

  get place(): string {
    return this.#elements === 0 ? 'at its beginning' : `behind element ${this.#elements}`
  }

  /** Characters that are not taken yet. */
  get length(): number {
    return this.#text.length
  }

  take(): Uint8Array {
    const taken = Buffer.from(this.#text)
    this.#text = ''
    return taken
  }

  token(token: Token): void {
    switch (token.name) {
      case 'startObject':
        return this.#open('{')
      case 'startArray':
        return this.#open('[')
      case 'endObject':
        return this.#close('}')
      case 'endArray':
        return this.#close(']')
      case 'startKey':
        this.#separate()
        return this.#add('"')
      case 'endKey':
        this.#comma = false
        return this.#add('":')
      case 'startString':
        this.#separate()
        return this.#add('"')
      case 'stringChunk':
        return this.#add(JSON.stringify(token.value).slice(1, -1))
      case 'endString':
        this.#add('"')
        return this.#ended()
      case 'startNumber':
        return this.#separate()
      case 'numberChunk':
        return this.#add(token.value)
      case 'endNumber':
        return this.#ended()
      case 'trueValue':
      case 'falseValue':
      case 'nullValue':
        this.#separate()
        this.#add(String(token.value))
        return this.#ended()
    }
  }

  #open(bracket: string): void {
    if (this.#depth === 0 && (bracket !== '[' || this.#started)) throw new Error('an array is expected')
    if (this.#depth >= MAX_DEPTH) throw new Error(`more than ${MAX_DEPTH} levels`)
    this.#started = true
    if (this.#depth++ === 0) return
    this.#separate()
    this.#add(bracket)
    this.#comma = false
  }

  #close(bracket: string): void {
    if (--this.#depth === 0) return
    this.#add(bracket)
    this.#ended()
  }

  #separate(): void {
    if (this.#depth === 0) throw new Error('an array is expected')
    if (this.#comma) this.#add(',')
  }

  #add(text: string): void {
    if (this.#length > this.#max) return
    this.#text += text
    this.#length += text.length
  }

  #ended(): void {
    this.#comma = this.#depth > 1
    if (this.#depth > 1) return
    this.#text += '\n'
    this.#length = 0
    this.#elements++
  }
}
