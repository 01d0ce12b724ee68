import { isUtf8 } from 'node:buffer'
import { InvalidInput } from '../../src/core/errors.js'
import { EventLoopYield, type Pause } from '../../src/core/event-loop-yield.js'
import { ApiError } from './errors.js'
import { assertNotHostile, isSuspect, MAX_DEPTH } from './json-limits.js'
import { jsonIssue } from './json-errors.js'
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_LIST,
  OPEN_OBJECT,
  parseInSlices,
  QUOTE,
  SCANNED_BYTES,
  SLICE_BYTES,
} from './json-slices.js'

const LETTER_U = 0x75
/** Maximum number of members of all objects together. */
const MAX_MEMBERS = 100_000
/** Maximum number of members, elements, lists and objects together. Allows 100,000 objects of one member in a list. */
const MAX_VALUES = 300_000

const slices = new EventLoopYield()
const pause: Pause = () => slices.yieldToEventLoop()

/**
 * Parses a JSON body. Size in memory and parsing time depend on depth and members, so both are limited on the bytes
 * before parsing. Large bodies are parsed in slices, so that none holds the event loop. Rejects with `badJson`, and with
 * InvalidInput for JSON that exceeds the limits or reaches into prototypes.
 */
export async function parseJson(bytes: Buffer): Promise<unknown> {
  if (!isUtf8(bytes)) throw new ApiError('badJson', undefined, 'Malformed JSON in request body: it is not UTF-8')
  const scan: Scan = { large: new Map(), hasEscapes: false }
  const message = await excess(bytes, scan)
  if (message !== undefined) throw new InvalidInput([{ pointer: '', message }])
  const value = await parsed(bytes, scan.large)
  // Escapes can hide such a name.
  if (scan.hasEscapes || isSuspect(bytes)) assertNotHostile(value)
  return value
}

async function parsed(bytes: Buffer, large: ReadonlyMap<number, number>): Promise<unknown> {
  const start = bytes.findIndex((byte) => byte > 0x20)
  const end = large.get(start)
  if (end !== undefined && bytes.toString('latin1', end + 1).trim() === '') {
    try {
      return await parseInSlices(bytes, start, large, pause)
    } catch (error) {
      // Parsed again, for the position of the error.
      if (!(error instanceof SyntaxError)) throw error
    }
  }
  const text = bytes.toString('utf8')
  try {
    return JSON.parse(text)
  } catch (error) {
    const issue = jsonIssue(text) ?? 'it cannot be read'
    throw new ApiError('badJson', undefined, { message: `Malformed JSON in request body: ${issue}`, cause: error })
  }
}

/** What the bytes contain. */
interface Scan {
  /** The positions of the brackets of large lists and objects. */
  readonly large: Map<number, number>
  /** Some character is written as `\u0041`. */
  hasEscapes: boolean
}

/** Fills `scan`. Returns which limit the bytes exceed. Assumes JSON; other bytes fail to parse later. */
async function excess(bytes: Buffer, scan: Scan): Promise<string | undefined> {
  const open: number[] = []
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
      scan.hasEscapes ||= bytes[at] === LETTER_U
    } else if (byte === COLON) members++
    else if (byte === COMMA) values++
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      const start = open.pop() ?? at
      if (at - start > SLICE_BYTES) scan.large.set(start, at)
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      // The first value of each list or object has no comma before it.
      values++
      if (open.push(at) > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`
    } else continue
    if (members > MAX_MEMBERS) return `has more than ${MAX_MEMBERS} members`
    if (values > MAX_VALUES) return `has more than ${MAX_VALUES} values`
  }
  return undefined
}
