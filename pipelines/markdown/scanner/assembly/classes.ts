// Classes of 16 characters at a time. A class is a bit that both halves of a character have in two tables of 16 bytes.

/** Classes of the characters of a text. */
const TEXT_CLASSES: usize = 0x1040
export const TEXT_TILDE: u8 = 1
export const TEXT_BACKTICK: u8 = 2
export const TEXT_STAR: u8 = 4
/** `[`, `\`, `]` and `_`. */
export const TEXT_BRACKETS: u8 = 8
export const TEXT_AMPERSAND: u8 = 16
export const TEXT_RETURN: u8 = 32
const TEXT_SPACE: u8 = 64
/** White space other than a space. */
const TEXT_BREAK: u8 = 128

/** Classes of the characters that end something in a tag. */
const TAG_CLASSES: usize = 0x1060
const TAG_BREAK: u8 = 1
const TAG_SPACE: u8 = 2
const TAG_SLASH: u8 = 4
const TAG_GREATER: u8 = 8
const TAG_EQUALS: u8 = 16
/** What ends the name of a tag, that of an attribute, and a value without quotes. */
export const TAG_NAME_ENDS: u8 = TAG_BREAK | TAG_SPACE | TAG_SLASH | TAG_GREATER
export const ATTRIBUTE_NAME_ENDS: u8 = TAG_NAME_ENDS | TAG_EQUALS
export const VALUE_ENDS: u8 = TAG_BREAK | TAG_SPACE | TAG_GREATER

/** Classes of the characters of a value that take another look. */
const VALUE_CLASSES: usize = 0x1080
export const VALUE_AMPERSANDS: u8 = 1
export const VALUE_PARENTHESES: u8 = 2
export const VALUE_QUOTES: u8 = 4
export const VALUE_RETURNS: u8 = 8
export const VALUE_BACKSLASHES: u8 = 16
export const VALUE_LINE_FEEDS: u8 = 32
export const VALUE_ANGLES: u8 = 64

/** 16 bytes of ones, and 16 of zeros: from an earlier position of them the mask of the first few of 16 characters is read. */
const ONES: usize = 0x1020

/** Gives the class `bit` to up to four characters, the bytes of a number. */
function add(table: usize, bit: u8, chars: u32): void {
  for (let rest = chars; rest !== 0; rest >>= 8) {
    const low = table + (rest & 15)
    const high = table + 16 + ((rest >> 4) & 15)
    store<u8>(low, load<u8>(low) | bit)
    store<u8>(high, load<u8>(high) | bit)
  }
}

export function fillClasses(): void {
  v128.store(ONES, i8x16.splat(-1))
  add(TEXT_CLASSES, TEXT_TILDE, 0x7e)
  add(TEXT_CLASSES, TEXT_BACKTICK, 0x60)
  add(TEXT_CLASSES, TEXT_STAR, 0x2a)
  add(TEXT_CLASSES, TEXT_BRACKETS, 0x5b5c5d5f)
  add(TEXT_CLASSES, TEXT_AMPERSAND, 0x26)
  add(TEXT_CLASSES, TEXT_RETURN, 0x0d)
  add(TEXT_CLASSES, TEXT_SPACE, 0x20)
  add(TEXT_CLASSES, TEXT_BREAK, 0x090a0c0d)
  add(TAG_CLASSES, TAG_BREAK, 0x090a0c0d)
  add(TAG_CLASSES, TAG_SPACE, 0x20)
  add(TAG_CLASSES, TAG_SLASH, 0x2f)
  add(TAG_CLASSES, TAG_GREATER, 0x3e)
  add(TAG_CLASSES, TAG_EQUALS, 0x3d)
  add(VALUE_CLASSES, VALUE_AMPERSANDS, 0x26)
  add(VALUE_CLASSES, VALUE_PARENTHESES, 0x2829)
  add(VALUE_CLASSES, VALUE_QUOTES, 0x22)
  add(VALUE_CLASSES, VALUE_RETURNS, 0x0d)
  add(VALUE_CLASSES, VALUE_BACKSLASHES, 0x5c)
  add(VALUE_CLASSES, VALUE_LINE_FEEDS, 0x0a)
  add(VALUE_CLASSES, VALUE_ANGLES, 0x3c3e)
}

function classes(table: usize, chars: v128): v128 {
  const low = i8x16.swizzle(v128.load(table), v128.and(chars, i8x16.splat(15)))
  const high = i8x16.swizzle(v128.load(table, 16), i8x16.shr_u(chars, 4))
  return v128.and(low, high)
}

export function textClasses(chars: v128): v128 {
  return classes(TEXT_CLASSES, chars)
}

export function valueClasses(chars: v128): v128 {
  return classes(VALUE_CLASSES, chars)
}

/** Returns a bit for each character that has one of these classes of a tag. */
export function endsIn(chars: v128, ends: u8): i32 {
  const found = v128.and(classes(TAG_CLASSES, chars), i8x16.splat(ends))
  return i8x16.bitmask(i8x16.ne(found, i8x16.splat(0)))
}

/** Returns ones for the first `count` characters, up to 16, and zeros for the others. */
export function firstOf(count: i32): v128 {
  return v128.load(ONES + 16 - count)
}

/** Returns all classes that one of 16 characters has. */
export function anyOf(classes: v128): u32 {
  let all = i64x2.extract_lane(classes, 0) | i64x2.extract_lane(classes, 1)
  all |= all >> 32
  all |= all >> 16
  return (<u32>(all | (all >> 8))) & 255
}

export function isWhite(char: u32): bool {
  return char === 0x20 || (char <= 0x0d && char >= 0x09 && char !== 0x0b)
}

export function isLetter(char: u32): bool {
  return (char | 0x20) - 0x61 < 26
}
