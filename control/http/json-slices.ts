import type { Pause } from '../../src/core/event-loop-yield.js'

export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const COLON = 0x3a
export const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Bytes that are read between two pauses. */
export const SCANNED_BYTES = 512 * 1024
/** Lists and objects of more bytes are parsed in slices. */
export const SLICE_BYTES = 64 * 1024
/** Members of a slice: many short names take longer than their bytes suggest. */
const SLICE_MEMBERS = 4000

/**
 * Parses the list or object at `start` like JSON.parse, with pauses between its slices. `ends` has the closing bracket
 * of each list and object of more than {@link SLICE_BYTES}, by its position. Throws SyntaxError for what is not JSON.
 */
export async function parseInSlices(
  bytes: Buffer,
  start: number,
  ends: ReadonlyMap<number, number>,
  pause: Pause,
): Promise<unknown> {
  const end = ends.get(start) ?? bytes.length
  const isObject = bytes[start] === OPEN_OBJECT
  if (bytes[end] !== (isObject ? CLOSE_OBJECT : CLOSE_LIST)) throw new SyntaxError('the brackets do not match')
  const parse = (text: string): object => JSON.parse(isObject ? `{${text}}` : `[${text}]`) as object
  const result: object = isObject ? {} : []
  const add = (text: string): void => {
    const part = parse(text)
    if (Object.keys(part).length === 0) throw new SyntaxError('a member is missing')
    if (Array.isArray(part)) for (const item of part) (result as unknown[]).push(item)
    else for (const [name, value] of Object.entries(part)) define(result, name, value)
  }

  /** Where the slice begins, and the member in it. */
  let slice = start + 1
  let member = slice
  let members = 0
  let depth = 0
  /** The member is parsed already. */
  let isDone = false
  const endMember = (at: number): void => {
    if (isDone && bytes.toString('latin1', member, at).trim() !== '') throw new SyntaxError('a comma is missing')
    if (isDone) slice = at + 1
    isDone = false
    member = at + 1
    members++
  }
  let isText = false
  let paused = start
  for (let at = start + 1; at < end; at++) {
    if (at - paused >= SCANNED_BYTES) {
      paused = at
      await pause()
    }
    const byte = bytes[at]
    if (byte === QUOTE) isText = !isText
    else if (isText) at += byte === BACKSLASH ? 1 : 0
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
    else if ((byte === OPEN_LIST || byte === OPEN_OBJECT) && !ends.has(at)) depth++
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      if (member > slice) add(bytes.toString('utf8', slice, member - 1))
      // With an empty text in place of the value: `{"name":""}` or `[""]`.
      const [name, ...others] = Object.keys(parse(`${bytes.toString('utf8', member, at)}""`))
      if (name === undefined || others.length > 0 || isDone) throw new SyntaxError('a comma is missing')
      const value = await parseInSlices(bytes, at, ends, pause)
      if (isObject) define(result, name, value)
      else (result as unknown[]).push(value)
      at = ends.get(at) ?? end
      slice = member = at + 1
      isDone = true
    } else if (byte === COMMA && depth === 0) {
      endMember(at)
      if (slice === member || (at - slice < SLICE_BYTES && members < SLICE_MEMBERS)) continue
      add(bytes.toString('utf8', slice, at))
      slice = member
      members = 0
      await pause()
    }
  }
  if (isDone) endMember(end)
  else add(bytes.toString('utf8', slice, end))
  return result
}

/** Assignment would change the prototype for the name `__proto__`. */
function define(object: object, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true })
  else (object as Record<string, unknown>)[name] = value
}
