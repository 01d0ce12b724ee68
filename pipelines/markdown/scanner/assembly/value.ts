// Values of attributes: where one ends, and in the same pass what it has that takes another look.
import {
  VALUE_DECODE,
  VALUE_ESCAPE,
  VALUE_FOREIGN,
  VALUE_NUL,
  VALUE_PARENTHESIS,
  VALUE_RETURN,
  VALUE_TITLE,
} from '../layout'
import {
  anyOf,
  endsIn,
  firstOf,
  VALUE_AMPERSANDS,
  VALUE_ANGLES,
  VALUE_BACKSLASHES,
  VALUE_ENDS,
  VALUE_LINE_FEEDS,
  VALUE_PARENTHESES,
  VALUE_QUOTES,
  VALUE_RETURNS,
  valueClasses,
} from './classes'

/** The traits of a value by the classes that its characters have. */
const TRAITS: usize = 0x1400

export function fillTraits(): void {
  for (let classes: u32 = 0; classes < 256; classes++) {
    let traits = 0
    if ((classes & VALUE_AMPERSANDS) !== 0) traits |= VALUE_DECODE | VALUE_ESCAPE | VALUE_TITLE
    if ((classes & VALUE_PARENTHESES) !== 0) traits |= VALUE_PARENTHESIS
    if ((classes & VALUE_QUOTES) !== 0) traits |= VALUE_TITLE
    if ((classes & VALUE_RETURNS) !== 0) traits |= VALUE_RETURN | VALUE_ESCAPE | VALUE_TITLE
    if ((classes & (VALUE_BACKSLASHES | VALUE_LINE_FEEDS)) !== 0) traits |= VALUE_ESCAPE | VALUE_TITLE
    if ((classes & VALUE_ANGLES) !== 0) traits |= VALUE_ESCAPE
    store<u8>(TRAITS + classes, <u8>traits)
  }
}

/** The traits of the value that was read last. */
export let valueTraits: i32 = 0

/**
 * Reads the value at `start` up to its closing quote, or one without quotes up to what ends it. Returns the position of that, or 0
 * if it is missing.
 */
export function readValue(start: usize, end: usize, quote: u8): usize {
  const quotes = i8x16.splat(quote)
  let seen = i8x16.splat(0)
  let odd = i8x16.splat(0)
  let chars = i8x16.splat(0)
  let nuls = i8x16.splat(0)
  for (let at = start; at < end; at += 16) {
    let block = v128.load(at)
    const found = quote === 0 ? endsIn(block, VALUE_ENDS) : i8x16.bitmask(i8x16.eq(block, quotes))
    if (found !== 0) block = v128.bitselect(block, i8x16.splat(0x61), firstOf(ctz(found)))
    seen = v128.or(seen, valueClasses(block))
    chars = v128.or(chars, block)
    nuls = v128.or(nuls, i8x16.eq(block, i8x16.splat(0)))
    odd = v128.or(odd, i8x16.gt_u(i8x16.sub(block, i8x16.splat(0x21)), i8x16.splat(0x5d)))
    if (found === 0) continue
    valueTraits = load<u8>(TRAITS + anyOf(seen))
    if (v128.any_true(odd)) {
      valueTraits |= VALUE_ESCAPE
      if (v128.any_true(nuls)) valueTraits |= VALUE_NUL
      if (i8x16.bitmask(chars) !== 0) valueTraits |= VALUE_FOREIGN
    }
    at += ctz(found)
    return at < end ? at : 0
  }
  return 0
}
