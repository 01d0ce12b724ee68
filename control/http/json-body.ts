import { isUtf8 } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { InvalidInput } from '../../src/core/errors.js'
import { ApiError } from './errors.js'
import { assertNotHostile, MAX_DEPTH } from './json-limits.js'
import { jsonIssue } from './json-errors.js'

/** Maximum number of members of all objects together. */
const MAX_MEMBERS = 100_000
/** Maximum number of members, elements, lists and objects together. Allows 100,000 objects of one member in a list. */
const MAX_VALUES = 300_000
/** From this size on, the event loop runs other work between the steps. */
const LARGE_BYTES = 256 * 1024

/**
 * Parses a JSON body. Size in memory and parsing time depend on depth and members, so both are limited on the bytes
 * before parsing. Throws `badJson`, and InvalidInput for JSON that exceeds the limits or reaches into prototypes.
 */
export async function parseJson(bytes: Buffer): Promise<unknown> {
  if (!isUtf8(bytes)) throw new ApiError('badJson', undefined, 'Malformed JSON in request body: it is not UTF-8')
  const message = excess(bytes)
  if (message !== undefined) throw new InvalidInput([{ pointer: '', message }])
  const pause = async (): Promise<void> => void (bytes.length > LARGE_BYTES && (await setImmediate()))
  await pause()
  const value = parsed(bytes.toString('utf8'))
  await pause()
  assertNotHostile(value)
  await pause()
  return value
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const issue = jsonIssue(text) ?? 'it cannot be read'
    throw new ApiError('badJson', undefined, { message: `Malformed JSON in request body: ${issue}`, cause: error })
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Returns which limit the bytes exceed. Assumes JSON; other bytes fail to parse later. */
function excess(bytes: Buffer): string | undefined {
  let depth = 0
  let members = 0
  let values = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) at = endOfString(bytes, at)
    else if (byte === COLON) members++
    else if (byte === COMMA) values++
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      // The first value of each list or object has no comma before it.
      values++
      if (++depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`
    } else continue
    if (members > MAX_MEMBERS) return `has more than ${MAX_MEMBERS} members`
    if (values > MAX_VALUES) return `has more than ${MAX_VALUES} values`
  }
  return undefined
}

/** Returns the position of the quote that ends the string at `start`, or the end of the bytes. */
function endOfString(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(QUOTE, start + 1); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let before = end - 1
    while (bytes[before] === BACKSLASH) before--
    if ((end - before) % 2 === 1) return end
  }
  return bytes.length
}
