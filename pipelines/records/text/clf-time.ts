/** Times of access logs, such as `10/Oct/2000:13:55:36 -0700`. */
import { COLON, MINUS, SPACE, ZERO } from '../../../src/core/bytes.js'

/** Length of every such time. */
export const CLF_TIME_LENGTH = 26
/** Length of the same time in RFC 3339, with its offset. */
export const RFC_TIME_LENGTH = 25

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'].map(monthKey)
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const SLASH = 0x2f
const PLUS = 0x2b
const LETTER_T = 0x54

/** Three letters as one number. */
function monthKey(name: string): number {
  const [a = 0, b = 0, c = 0] = Buffer.from(name)
  return (a << 16) | (b << 8) | c
}

/** Returns a time of an access log as RFC 3339. Undefined for any other text. */
export function readClfTime(text: string): string | undefined {
  if (text.length !== CLF_TIME_LENGTH) return undefined
  const into = Buffer.alloc(RFC_TIME_LENGTH)
  return writeClfTime(Buffer.from(text, 'latin1'), 0, into) ? into.toString() : undefined
}

/** Writes the time at `from` as RFC 3339 to the beginning of `into`. Returns false for any other text. */
export function writeClfTime(bytes: Uint8Array, from: number, into: Uint8Array): boolean {
  const sign = bytes[from + 21]
  const isShaped =
    bytes[from + 2] === SLASH &&
    bytes[from + 6] === SLASH &&
    bytes[from + 11] === COLON &&
    bytes[from + 14] === COLON &&
    bytes[from + 17] === COLON &&
    bytes[from + 20] === SPACE &&
    (sign === PLUS || sign === MINUS)
  if (!isShaped) return false
  const two = (at: number): number => {
    const tens = bytes[from + at]! - ZERO
    const ones = bytes[from + at + 1]! - ZERO
    return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN
  }
  const month = MONTHS.indexOf((bytes[from + 3]! << 16) | (bytes[from + 4]! << 8) | bytes[from + 5]!)
  const year = two(7) * 100 + two(9)
  const day = two(0)
  const isValid =
    month >= 0 &&
    year >= 0 &&
    day >= 1 &&
    day <= daysOf(month, year) &&
    two(12) <= 23 &&
    two(15) <= 59 &&
    two(18) <= 60 &&
    two(22) <= 23 &&
    two(24) <= 59
  if (!isValid) return false
  for (let at = 0; at < 4; at++) into[at] = bytes[from + 7 + at]!
  into[4] = MINUS
  into[5] = ZERO + Number(month >= 9)
  into[6] = ZERO + ((month + 1) % 10)
  into[7] = MINUS
  into[8] = bytes[from]!
  into[9] = bytes[from + 1]!
  into[10] = LETTER_T
  for (let at = 0; at < 8; at++) into[11 + at] = bytes[from + 12 + at]!
  for (let at = 0; at < 3; at++) into[19 + at] = bytes[from + 21 + at]!
  into[22] = COLON
  into[23] = bytes[from + 24]!
  into[24] = bytes[from + 25]!
  return true
}

function daysOf(month: number, year: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return month === 1 && isLeap ? 29 : DAYS[month]!
}
