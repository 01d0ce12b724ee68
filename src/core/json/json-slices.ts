import type { Pause } from '../schedule/event-loop-yield.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const LETTER_U = 0x75
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Bytes that are read between two pauses. */
const SCANNED_BYTES = 512 * 1024
/** Lists, objects and texts of more bytes are parsed in slices. */
const SLICE_BYTES = 64 * 1024
/** Maximum members of a slice. Many short names take longer than their bytes suggest. */
const SLICE_MEMBERS = 4000
/** Bytes of the longest escape, `\u0041`. */
const ESCAPE_BYTES = 6

/** Limits on the values of a text. Memory and parsing time depend on them. */
export interface JsonLimits {
  /** Levels of nested lists and objects. */
  readonly depth: number
  /** Members of all objects together. */
  readonly members: number
  /** Members, elements, lists and objects together. */
  readonly values: number
}

/** Result of scanning a text. */
export interface JsonScan {
  /** The closing bracket of each list and object of more than {@link SLICE_BYTES}, by the position of the opening one. */
  readonly large: ReadonlyMap<number, number>
  /** Some character is written as `\u0041`. */
  readonly hasEscapes: boolean
  /** The limit that the text exceeds. Scanning ends there. */
  readonly excess?: string
}

/** Scans a text, with pauses. Assumes JSON. Other bytes fail to parse later. */
export async function scanJson(bytes: Buffer, limits: JsonLimits, pause: Pause): Promise<JsonScan> {
  const large = new Map<number, number>()
  const open: number[] = []
  let hasEscapes = false
  let members = 0
  let values = 0
  let paused = 0
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    if (at - paused >= SCANNED_BYTES) {
      paused = at
      await pause()
    }
    const byte = bytes[at]
    if (byte === QUOTE) isText = !isText
    else if (isText) {
      if (byte !== BACKSLASH) continue
      at++
      hasEscapes ||= bytes[at] === LETTER_U
    } else if (byte === COLON) members++
    else if (byte === COMMA) values++
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      const start = open.pop() ?? at
      if (at - start > SLICE_BYTES) large.set(start, at)
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      // The first value of each list or object has no comma before it.
      values++
      if (open.push(at) > limits.depth)
        return { large, hasEscapes, excess: `is nested deeper than ${limits.depth} levels` }
    } else continue
    if (members > limits.members) return { large, hasEscapes, excess: `has more than ${limits.members} members` }
    if (values > limits.values) return { large, hasEscapes, excess: `has more than ${limits.values} values` }
  }
  return { large, hasEscapes }
}

/**
 * Parses scanned bytes like JSON.parse, with pauses between slices of a large value. Throws SyntaxError if the bytes
 * are not JSON. With `checks`, the slices are parsed and forgotten, and the result is undefined.
 */
export async function parseScanned(
  bytes: Buffer,
  { large }: JsonScan,
  pause: Pause,
  { checks = false } = {},
): Promise<unknown> {
  let start = 0
  while (start < bytes.length && bytes[start]! <= 0x20) start++
  let end = bytes.length - 1
  while (end > start && bytes[end]! <= 0x20) end--
  let value: unknown
  const isText = bytes[start] === QUOTE && end - start > SLICE_BYTES
  if (isText || large.has(start)) {
    // Not all that was skipped is white space of JSON.
    JSON.parse(`${bytes.toString('latin1', 0, start)}0${bytes.toString('latin1', end + 1)}`)
    const parser = new SliceParser(bytes, large, pause, !checks)
    value = isText ? await parser.text(start, end) : await parser.value(start, end)
  } else value = JSON.parse(bytes.toString())
  return checks ? undefined : value
}

/** Parses a list or object of many bytes member by member. Small members are parsed together as one slice. */
class SliceParser {
  readonly #bytes: Buffer
  readonly #large: ReadonlyMap<number, number>
  readonly #pause: Pause
  /** False if the parsed values are not retained. */
  readonly #isKept: boolean

  constructor(bytes: Buffer, large: ReadonlyMap<number, number>, pause: Pause, isKept: boolean) {
    this.#bytes = bytes
    this.#large = large
    this.#pause = pause
    this.#isKept = isKept
  }

  /** Parses the list or object from its opening bracket to its closing one. */
  async value(start: number, end: number): Promise<unknown> {
    const bytes = this.#bytes
    const isObject = bytes[start] === OPEN_OBJECT
    if (this.#large.get(start) !== end) throw new SyntaxError('text follows the value')
    if (bytes[end] !== (isObject ? CLOSE_OBJECT : CLOSE_LIST)) throw new SyntaxError('the brackets do not match')
    const members = new Members(bytes, isObject, start + 1, this.#isKept)
    let depth = 0
    let text = -1
    let paused = start
    for (let at = start + 1; at < end; at++) {
      if (at - paused >= SCANNED_BYTES) {
        paused = at
        await this.#pause()
      }
      const byte = bytes[at]
      if (byte === QUOTE) {
        const opened = text
        text = text < 0 ? at : -1
        if (opened < 0 || at - opened <= SLICE_BYTES || depth > 0 || this.#isName(isObject, at + 1)) continue
        members.large(opened, at, await this.text(opened, at))
      } else if (text >= 0) at += byte === BACKSLASH ? 1 : 0
      else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        const closing = this.#large.get(at)
        if (closing === undefined) depth++
        else {
          members.large(at, closing, await this.value(at, closing))
          at = closing
        }
      } else if (byte === COMMA && depth === 0 && members.end(at)) await this.#pause()
    }
    return members.finish(end)
  }

  /** Returns whether a text that ends before `at` is the name of a member. */
  #isName(isObject: boolean, at: number): boolean {
    let next = at
    while (next < this.#bytes.length && this.#bytes[next]! <= 0x20) next++
    return isObject && this.#bytes[next] === COLON
  }

  /** Parses a text from its opening quote to its closing one. */
  async text(open: number, close: number): Promise<string> {
    let text = ''
    for (let from = open + 1; from < close;) {
      const to = close - from <= SLICE_BYTES ? close : this.#whole(from, from + SLICE_BYTES)
      const part = JSON.parse(`"${this.#bytes.toString('utf8', from, to)}"`) as string
      if (this.#isKept) text += part
      from = to
      await this.#pause()
    }
    return text
  }

  /** Returns the last position until `to` that divides neither a character nor an escape. */
  #whole(from: number, to: number): number {
    const bytes = this.#bytes
    let end = to
    while ((bytes[end]! & 0xc0) === 0x80 && end > to - 4) end--
    const last = bytes.subarray(end - ESCAPE_BYTES, end).lastIndexOf(BACKSLASH)
    if (last < 0) return end
    const at = end - ESCAPE_BYTES + last
    let backslashes = 1
    while (at - backslashes >= from && bytes[at - backslashes] === BACKSLASH) backslashes++
    // After an even number each one is escaped by the one before it.
    return backslashes % 2 === 1 ? at : end
  }
}

/** Collects the members of one list or object. */
class Members {
  readonly #bytes: Buffer
  readonly #isObject: boolean
  readonly #isKept: boolean
  readonly #result: object
  /** Start of the slice that is not parsed yet, and of the member in it. */
  #slice: number
  #member: number
  #count = 0
  /** The member is parsed already. */
  #isDone = false
  /** A comma was read. */
  #isFilled = false

  constructor(bytes: Buffer, isObject: boolean, start: number, isKept: boolean) {
    this.#bytes = bytes
    this.#isObject = isObject
    this.#isKept = isKept
    this.#slice = start
    this.#member = start
    this.#result = isObject ? {} : []
  }

  /** Adds a member whose value was parsed before, with the bytes from `at` to `last`. */
  large(at: number, last: number, value: unknown): void {
    if (this.#member > this.#slice) this.#add(this.#bytes.toString('utf8', this.#slice, this.#member - 1))
    // With an empty text in place of the value: `{"name":""}` or `[""]`.
    const [name, ...others] = Object.keys(this.#parse(`${this.#bytes.toString('utf8', this.#member, at)}""`))
    if (name === undefined || others.length > 0 || this.#isDone) throw new SyntaxError('a comma is missing')
    if (this.#isKept && this.#isObject) define(this.#result, name, value)
    else if (this.#isKept) (this.#result as unknown[]).push(value)
    this.#slice = this.#member = last + 1
    this.#isDone = true
  }

  /** Ends the member at a comma. Returns whether a slice was parsed. */
  end(at: number): boolean {
    this.#endMember(at)
    if (this.#slice === this.#member || (at - this.#slice < SLICE_BYTES && this.#count < SLICE_MEMBERS)) return false
    this.#add(this.#bytes.toString('utf8', this.#slice, at))
    this.#slice = this.#member
    this.#count = 0
    return true
  }

  /** Ends the list or object. */
  finish(end: number): unknown {
    if (this.#isDone) this.#endMember(end)
    else {
      const text = this.#bytes.toString('utf8', this.#slice, end)
      // An empty list or object has no comma.
      if (this.#isFilled || text.trim() !== '') this.#add(text)
    }
    return this.#isKept ? this.#result : undefined
  }

  #endMember(at: number): void {
    if (this.#isDone && this.#bytes.toString('latin1', this.#member, at).trim() !== '')
      throw new SyntaxError('a comma is missing')
    if (this.#isDone) this.#slice = at + 1
    this.#isDone = false
    this.#isFilled = true
    this.#member = at + 1
    this.#count++
  }

  #add(text: string): void {
    const part = this.#parse(text)
    if (Object.keys(part).length === 0) throw new SyntaxError('a member is missing')
    if (!this.#isKept) return
    if (Array.isArray(part)) for (const item of part) (this.#result as unknown[]).push(item)
    else for (const [name, value] of Object.entries(part)) define(this.#result, name, value)
  }

  #parse(text: string): object {
    return JSON.parse(this.#isObject ? `{${text}}` : `[${text}]`) as object
  }
}

/** Assignment would change the prototype for the name `__proto__`. */
function define(object: object, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true })
  else (object as Record<string, unknown>)[name] = value
}
