import { FOREIGN, INPUT, RETURNS, TEXT, TEXT_END, TEXT_FROM, TEXT_START, TEXT_TO, TEXT_TRAITS } from '../layout'
import { AMPERSAND, BLANK, INNER_SPACE, NUL, SPACE_AFTER, SPACE_BEFORE, SPECIALS } from '../../text/text-traits'
import {
  anyOf,
  firstOf,
  isLetter,
  TEXT_AMPERSAND,
  TEXT_BACKTICK,
  TEXT_BRACKETS,
  TEXT_RETURN,
  TEXT_STAR,
  TEXT_TILDE,
  textClasses,
} from './classes'

const LESS: u8 = 0x3c
const SLASH: u32 = 0x2f

/** Returns whether `<` and this character begin markup. */
export function beginsMarkup(char: u32): bool {
  return isLetter(char) || char === SLASH || char === 0x21 || char === 0x3f
}

/**
 * Reads the text at `start` up to markup, and writes it to `token`, unless it is empty. Returns the position of the `<`, or 0
 * if the text may go on behind the end. `whole`: the text is everything up to the end.
 */
export function readText(token: usize, start: usize, end: usize, whole: bool): usize {
  let at = start
  // The text without white space around it, and the first white space in it that is not one space.
  let from: usize = 0
  let to: usize = 0
  let notable: usize = 0
  let afterSpace = 0
  let specials = 0
  let seen = i8x16.splat(0)
  let chars = i8x16.splat(0)
  let nuls = i8x16.splat(0)
  for (;;) {
    if (at >= end) {
      if (!whole) return 0
      break
    }
    let block = v128.load(at)
    const less = i8x16.bitmask(i8x16.eq(block, i8x16.splat(LESS)))
    let size = less === 0 ? 16 : ctz(less)
    if (at + size > end) size = <i32>(end - at)
    if (size < 16) block = v128.bitselect(block, i8x16.splat(0x61), firstOf(size))
    const classes = textClasses(block)
    seen = v128.or(seen, classes)
    chars = v128.or(chars, block)
    nuls = v128.or(nuls, i8x16.eq(block, i8x16.splat(0)))

    const breaks = i8x16.bitmask(classes)
    const spaces = breaks | i8x16.bitmask(i8x16.add(classes, classes))
    const solid = ~spaces & ((1 << size) - 1)
    if (solid !== 0) {
      if (from === 0) from = at + ctz(solid)
      to = at + 32 - clz(solid)
    }
    if (notable === 0 && from !== 0) {
      let found = breaks | (spaces & ((spaces << 1) | afterSpace))
      const before = <i32>(from - at)
      if (before > 0) found &= -1 << before
      if (found !== 0) notable = at + ctz(found)
    }
    afterSpace = spaces >> 15
    at += size
    if (less === 0 || at >= end) continue

    if (!whole) {
      const next: u32 = at + 1 < end ? load<u8>(at, 1) : SLASH
      if (next === SLASH && at + 2 >= end) return 0
      if (beginsMarkup(next)) break
    }
    // It is text.
    if (from === 0) from = at
    do at++
    while (at + 1 < end && load<u8>(at) === LESS && !beginsMarkup(load<u8>(at, 1)))
    to = at
    afterSpace = 0
    specials = SPECIALS
  }
  if (at === start) return at
  store<i32>(token, TEXT)
  store<i32>(token, <i32>(start - INPUT), TEXT_START * 4)
  store<i32>(token, <i32>(at - INPUT), TEXT_END * 4)
  if (from === 0) {
    store<i32>(token, <i32>(at - INPUT), TEXT_FROM * 4)
    store<i32>(token, <i32>(at - INPUT), TEXT_TO * 4)
    store<i32>(token, BLANK | RETURNS, TEXT_TRAITS * 4)
    return at
  }
  const any = anyOf(seen)
  let traits = specials
  if ((any & (TEXT_TILDE | TEXT_BACKTICK | TEXT_STAR | TEXT_BRACKETS | TEXT_AMPERSAND)) !== 0) traits |= SPECIALS
  if ((any & TEXT_AMPERSAND) !== 0) traits |= AMPERSAND
  if ((any & TEXT_RETURN) !== 0) traits |= RETURNS
  if (i8x16.bitmask(chars) !== 0) traits |= FOREIGN
  if (v128.any_true(nuls)) traits |= NUL
  if (notable !== 0 && notable < to) traits |= INNER_SPACE
  if (from > start) traits |= SPACE_BEFORE
  if (to < at) traits |= SPACE_AFTER
  store<i32>(token, <i32>(from - INPUT), TEXT_FROM * 4)
  store<i32>(token, <i32>(to - INPUT), TEXT_TO * 4)
  store<i32>(token, traits, TEXT_TRAITS * 4)
  return at
}
