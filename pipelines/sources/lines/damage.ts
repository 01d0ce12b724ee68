import { messageOf } from '../../../src/core/errors.js'
import { MalformedArray } from './array-lines.js'
import { isDecodingError } from './content-coding.js'
import type { LineBlock } from './line-blocks.js'

/**
 * Returns whether an error means that the content of an input is damaged or incomplete. Reading such an input again
 * does not help.
 */
export const isDamage = (error: unknown): boolean => error instanceof MalformedArray || isDecodingError(error)

/** Returns the message about an input that is damaged after `lines` lines, which have `bytes` bytes of text. */
export const damageMessage = (error: unknown, lines: number, bytes: number): string =>
  `is damaged behind line ${lines}, byte ${bytes} of its text: ${messageOf(error)}; what follows is not read`

/** Returns whether the last line before damage, which has no line feed, may be a whole record. */
export function mayBeWhole({ bytes, starts, ends, count }: LineBlock): boolean {
  for (let at = ends[count - 1]! - 1; at >= starts[count - 1]!; at--) {
    if (bytes[at]! > 0x20) return bytes[at] === CLOSE_BRACE
  }
  return false
}

const CLOSE_BRACE = 0x7d
