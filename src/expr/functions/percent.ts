import { hexDigit } from '../../core/bytes.js'
import type { Bytes } from '../language/value.js'

const PERCENT = 0x25
const PLUS = 0x2b
const SPACE = 0x20
const LETTER_U = 0x75

// Both functions decode in place, because a result is never longer than its escape. Time is a few ns per byte.

/** Decodes each escape once. The result is not decoded again. Invalid escapes are unchanged. */
export function decodeOnce(text: Bytes, unicode: boolean): Bytes {
  if (!text.includes('%') && !text.includes('+')) return text
  const bytes = Buffer.from(text, 'latin1')
  let top = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte === PERCENT) {
      const decoded = number(bytes, at + 1, 2)
      if (decoded >= 0) {
        bytes[top++] = decoded
        at += 2
        continue
      }
      const unit = unicode ? unitAt(bytes, at) : -1
      if (unit >= 0) {
        // Only a pair that is written without anything in between is one character.
        const low = isHigh(unit) ? unitAt(bytes, at + 6) : -1
        const pair = isLow(low) ? String.fromCharCode(unit, low) : String.fromCharCode(unit)
        at += pair.length * 6 - 1
        top += bytes.write(pair, top, 'utf8')
        continue
      }
    }
    bytes[top++] = byte === PLUS ? SPACE : byte
  }
  return bytes.toString('latin1', 0, top)
}

/**
 * Decodes until nothing is left to decode. Escapes never overlap, so their order does not matter. Each byte is pushed
 * on a stack, and a complete escape on top of it is replaced immediately. The time is linear, while repeated passes
 * over `%2525...` would be quadratic.
 */
export function decodeFully(text: Bytes, unicode: boolean): Bytes {
  if (!text.includes('%') && !text.includes('+')) return text
  const stack = Buffer.from(text, 'latin1')
  let top = 0
  for (let at = 0; at < stack.length; at++) {
    let byte = stack[at] as number
    for (;;) {
      stack[top++] = byte === PLUS ? SPACE : byte
      if (stack[top - 3] === PERCENT && (byte = number(stack, top - 2, 2)) >= 0) top -= 3
      else if (unicode && top >= 6 && unitAt(stack, top - 6) >= 0) {
        const unit = unitAt(stack, top - 6)
        if (unit < 0x80) {
          byte = unit
          top -= 6
        } else {
          top = putUnit(stack, top - 6, unit)
          break
        }
      } else break
    }
  }
  return stack.toString('latin1', 0, top)
}

/** Returns the number in `digits` hexadecimal digits. Negative if the bytes are not digits. */
function number(bytes: Buffer, from: number, digits: 2 | 4): number {
  let value = 0
  for (let at = from; at < from + digits; at++) {
    const digit = hexDigit(bytes[at] ?? 0)
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

/** Returns the UTF-16 unit of `%uXXXX`. Negative for anything else. */
const unitAt = (bytes: Buffer, at: number): number =>
  bytes[at] === PERCENT && bytes[at + 1] === LETTER_U ? number(bytes, at + 2, 4) : -1

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/** Writes a UTF-16 unit as UTF-8 and returns the position after it. A low surrogate joins the high one before it. */
function putUnit(stack: Buffer, top: number, unit: number): number {
  const second = stack[top - 2] ?? 0
  if (isLow(unit) && stack[top - 3] === 0xed && second >= 0xa0 && second <= 0xaf) {
    const high = 0xd000 | ((second & 0x3f) << 6) | ((stack[top - 1] as number) & 0x3f)
    return top - 3 + stack.write(String.fromCharCode(high, unit), top - 3, 'utf8')
  }
  if (!isHigh(unit)) return top + stack.write(String.fromCharCode(unit), top, 'utf8')
  stack[top] = 0xed
  stack[top + 1] = 0x80 | ((unit >> 6) & 0x3f)
  stack[top + 2] = 0x80 | (unit & 0x3f)
  return top + 3
}
