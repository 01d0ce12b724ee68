import { isUtf8 } from 'node:buffer'
import { InvalidInput } from '../../src/core/errors.js'
import { EventLoopYield, type Pause } from '../../src/core/schedule/event-loop-yield.js'
import { parseScanned, scanJson, type JsonScan } from '../../src/core/json/json-slices.js'
import { ApiError } from './errors.js'
import { assertNotHostile, isSuspect, MAX_DEPTH } from './json-limits.js'
import { jsonIssue } from './json-errors.js'

/** 300,000 values allow 100,000 objects of one member in a list. */
const LIMITS = { depth: MAX_DEPTH, members: 100_000, values: 300_000 }

const slices = new EventLoopYield()
const yieldToOthers: Pause = () => slices.yieldToEventLoop()

/**
 * Parses a JSON body. Size in memory and parsing time depend on depth and members, so both are limited on the bytes
 * before parsing. Large bodies are parsed in slices, so that none holds the event loop. Rejects with `badJson`, and with
 * InvalidInput for JSON that exceeds the limits or reaches into prototypes.
 */
export async function parseJson(bytes: Buffer, pause: Pause = yieldToOthers): Promise<unknown> {
  if (!isUtf8(bytes)) throw new ApiError('badJson', undefined, 'Malformed JSON in request body: it is not UTF-8')
  const scan = await scanJson(bytes, LIMITS, pause)
  if (scan.excess !== undefined) throw new InvalidInput([{ pointer: '', message: scan.excess }])
  const value = await parsed(bytes, scan, pause)
  // Escapes can hide such a name.
  if (scan.hasEscapes || isSuspect(bytes)) assertNotHostile(value)
  return value
}

async function parsed(bytes: Buffer, scan: JsonScan, pause: Pause): Promise<unknown> {
  try {
    return await parseScanned(bytes, scan, pause)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const issue = (await jsonIssue(bytes.toString(), pause)) ?? 'it cannot be read'
    throw new ApiError('badJson', undefined, { message: `Malformed JSON in request body: ${issue}`, cause: error })
  }
}
