import { StringDecoder } from 'node:string_decoder'
import type { Pause } from '../../src/core/schedule/event-loop-yield.js'

/** A value with more values, or more characters in its texts, is written in slices. */
const LARGE_VALUES = 2000
const LARGE_CHARACTERS = 100_000
/** Characters that are written between two pauses. */
const SLICE_CHARACTERS = 32_768
/** Levels of lists and objects that are divided into slices: envelope, result, its lists and their items. */
const MAX_LEVELS = 6

/** A value whose JSON text exists already. The text is part of the response unchanged. */
export class JsonText {
  readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

/** A text of many bytes of UTF-8, which is decoded in slices. */
export class LongText {
  readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

/** Returns whether writing a JSON value at once could hold the event loop for milliseconds. */
export function isLargeJson(value: unknown): boolean {
  const left = [value]
  let values = 0
  let characters = 0
  for (let next = left.pop(); left.length > 0 || next !== undefined; next = left.pop()) {
    if (next instanceof JsonText || next instanceof LongText) return true
    if (typeof next === 'string') characters += next.length
    else if (Array.isArray(next)) {
      values += next.length
      if (values <= LARGE_VALUES) left.push(...(next as unknown[]))
    } else if (typeof next === 'object' && next !== null)
      for (const inner of Object.values(next)) {
        left.push(inner)
        if (++values > LARGE_VALUES) break
      }
    if (values > LARGE_VALUES || characters > LARGE_CHARACTERS) return true
  }
  return false
}

/** Returns what JSON.stringify returns, as UTF-8, with pauses in between. `value` must not change meanwhile. */
export async function jsonBytes(value: unknown, pause: Pause): Promise<Buffer> {
  const writer = new SliceWriter(pause)
  await writer.write(value, 0)
  return writer.bytes()
}

class SliceWriter {
  readonly #pause: Pause
  readonly #parts: Buffer[] = []
  #text = ''

  constructor(pause: Pause) {
    this.#pause = pause
  }

  bytes(): Buffer {
    return Buffer.concat([...this.#parts, Buffer.from(this.#text)])
  }

  async write(value: unknown, level: number): Promise<void> {
    if (typeof value === 'string' && value.length > SLICE_CHARACTERS) return await this.#writeText(value)
    if (value instanceof JsonText) return await this.#flush(value.bytes)
    if (value instanceof LongText) return await this.#writeLong(value.bytes)
    if (level >= MAX_LEVELS || !isDivisible(value)) return await this.#add(JSON.stringify(value) ?? 'null')
    this.#text += Array.isArray(value) ? '[' : '{'
    let isFirst = true
    for (const [name, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
      if (typeof name === 'string' && !isJson(inner)) continue
      this.#text += `${isFirst ? '' : ','}${typeof name === 'string' ? `${JSON.stringify(name)}:` : ''}`
      isFirst = false
      if (isDivisible(inner) || typeof inner === 'string') await this.write(inner, level + 1)
      else this.#text += JSON.stringify(inner) ?? 'null'
      if (this.#text.length > SLICE_CHARACTERS) await this.#flush()
    }
    this.#text += Array.isArray(value) ? ']' : '}'
  }

  /** A text of megabytes takes milliseconds too. */
  async #writeText(text: string): Promise<void> {
    this.#text += '"'
    for (let from = 0; from < text.length;) {
      let to = Math.min(text.length, from + SLICE_CHARACTERS)
      // The two halves of a character stay together.
      if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to++
      await this.#add(JSON.stringify(text.slice(from, to)).slice(1, -1))
      from = to
    }
    this.#text += '"'
  }

  async #writeLong(bytes: Buffer): Promise<void> {
    const decoder = new StringDecoder()
    this.#text += '"'
    for (let from = 0; from < bytes.length; from += SLICE_CHARACTERS) {
      const text = decoder.write(bytes.subarray(from, from + SLICE_CHARACTERS))
      await this.#add(JSON.stringify(text).slice(1, -1))
    }
    this.#text += `${JSON.stringify(decoder.end()).slice(1, -1)}"`
  }

  async #add(text: string): Promise<void> {
    this.#text += text
    if (this.#text.length > SLICE_CHARACTERS) await this.#flush()
  }

  async #flush(...more: readonly Buffer[]): Promise<void> {
    this.#parts.push(Buffer.from(this.#text), ...more)
    this.#text = ''
    await this.#pause()
  }
}

const isJson = (value: unknown): boolean =>
  value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'

/** Lists and objects that JSON.stringify writes member by member. */
const isDivisible = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && typeof (value as { toJSON?: unknown }).toJSON !== 'function'
