import { isHexDigit } from '../lexer.js'
import { toBytes, type Bytes } from '../value.js'

const PERCENT = 0x25
const PLUS = 0x2b
const LETTER_U = 0x75

/** Decodes each escape once; the result is not decoded again. Invalid escapes are unchanged. */
export function decodeOnce(text: Bytes, unicode: boolean): Bytes {
  if (!text.includes('%') && !text.includes('+')) return text
  const pattern = unicode ? /\+|%[0-9a-fA-F]{2}|(?:%u[0-9a-fA-F]{4})+/g : /\+|%[0-9a-fA-F]{2}/g
  return text.replace(pattern, (found) => {
    if (found === '+') return ' '
    if (found[1] !== 'u') return String.fromCharCode(Number.parseInt(found.slice(1), 16))
    let units = ''
    for (let at = 2; at < found.length; at += 6) {
      units += String.fromCharCode(Number.parseInt(found.slice(at, at + 4), 16))
    }
    return toBytes(units)
  })
}

/**
 * Decodes until nothing is left to decode. Escapes never overlap, so their order does not matter: each byte is pushed
 * on a stack, and a complete escape on top of it is replaced immediately. So the time is linear, while repeated passes
 * over `%2525...` would be quadratic.
 */
export function decodeFully(text: Bytes, unicode: boolean): Bytes {
  if (!text.includes('%') && !text.includes('+')) return text
  const out: number[] = []
  const push = (byte: number): void => {
    out.push(byte === PLUS ? 0x20 : byte)
    for (;;) {
      const top = out.length
      if (isEscape(out, top - 3, 2)) {
        const decoded = take(out, 2, 1)
        out.push(decoded === PLUS ? 0x20 : decoded)
      } else if (unicode && out[top - 5] === LETTER_U && isEscape(out, top - 6, 4)) {
        pushUnit(out, take(out, 4, 2))
      } else return
    }
  }
  for (let at = 0; at < text.length; at++) push(text.charCodeAt(at))
  return Buffer.from(out).toString('latin1')
}

/** Returns whether `%` (and `u` before four digits) is at `at`, with `digits` hexadecimal digits at the end. */
function isEscape(out: readonly number[], at: number, digits: 2 | 4): boolean {
  if (out[at] !== PERCENT) return false
  for (let i = out.length - digits; i < out.length; i++) if (!isHexDigit(out[i] as number)) return false
  return true
}

/** Pops an escape from the stack and returns its number. */
function take(out: number[], digits: number, lead: number): number {
  const text = String.fromCharCode(...out.slice(out.length - digits))
  out.length -= digits + lead
  return Number.parseInt(text, 16)
}

/** Pushes a UTF-16 unit as UTF-8; a low surrogate joins the high one before it. */
function pushUnit(out: number[], unit: number): void {
  const low = unit >= 0xdc00 && unit <= 0xdfff
  const [lead, second, third] = out.slice(-3)
  if (low && lead === 0xed && second !== undefined && third !== undefined && second >= 0xa0 && second <= 0xaf) {
    const high = 0xd000 | ((second & 0x3f) << 6) | (third & 0x3f)
    out.length -= 3
    out.push(...Buffer.from(String.fromCharCode(high, unit), 'utf8'))
  } else if (unit >= 0xd800 && unit <= 0xdbff) {
    out.push(0xed, 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f))
  } else {
    const bytes = Buffer.from(String.fromCharCode(unit), 'utf8')
    out.push(...(bytes.length === 1 && bytes[0] === PLUS ? [0x20] : bytes))
  }
}
