/** A decimal number of any size as 0.DIGITS times ten to the power `point`. Zero has no digits. */
export interface Decimal {
  readonly negative: boolean
  readonly digits: string
  readonly point: number
  /** The same as a JavaScript number if it is a whole one of at most 15 digits, else NaN. */
  readonly small: number
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Reads a JSON number. Undefined for other text. */
export function decimal(text: string): Decimal | undefined {
  const match = DECIMAL.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const all = whole + fraction
  let first = 0
  while (first < all.length && all[first] === '0') first++
  let last = all.length
  while (last > first && all[last - 1] === '0') last--
  const digits = all.slice(first, last)
  const power = Math.max(-1e15, Math.min(1e15, Number(exponent)))
  const number = Number(text)
  const small = Number.isInteger(number) && Math.abs(number) < 1e15 && digits.length <= 15 ? number : NaN
  return digits === ''
    ? { negative: false, digits, point: 0, small: 0 }
    : { negative: sign === '-', digits, point: whole.length - first + power, small }
}

/** Below, above or 0, exactly. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.negative !== b.negative) return a.negative ? -1 : 1
  const size = compareSizes(a, b)
  return a.negative ? -size : size
}

function compareSizes(a: Decimal, b: Decimal): number {
  if (a.digits === '' || b.digits === '') return Number(a.digits !== '') - Number(b.digits !== '')
  if (a.point !== b.point) return a.point - b.point
  return a.digits < b.digits ? -1 : Number(a.digits > b.digits)
}

/** The value of a plain integer of at most 15 digits in JSON text; NaN for any other value. */
export function smallInteger(bytes: Uint8Array, start: number, end: number): number {
  const negative = bytes[start] === 0x2d
  const from = negative ? start + 1 : start
  if (end - from > 15) return NaN
  let value = 0
  for (let at = from; at < end; at++) {
    const digit = bytes[at]! - 0x30
    if (digit < 0 || digit > 9) return NaN
    value = value * 10 + digit
  }
  return negative ? -value : value
}

/** Returns the number in a slice of JSON text. Undefined for another value. */
export function decimalAt(bytes: Uint8Array, start: number, end: number): Decimal | undefined {
  const first = bytes[start]!
  if (first !== 0x2d && (first < 0x30 || first > 0x39)) return undefined
  return decimal(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1'))
}
