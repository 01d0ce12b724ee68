// Reads the tags and texts of a piece of a page: the tokenizer's inner loops, 16 characters at a time. AssemblyScript; see
// CONTRIBUTING.md for how to change it.
import {
  END_TAG,
  INPUT,
  MAX_ATTRIBUTES,
  MAX_TOKENS,
  START_TAG,
  STOP,
  STOP_DECLARATION,
  STOP_END,
  STOP_MORE,
  STOP_TAG,
  TOKENS,
  TOKEN_SIZE,
} from '../layout'
import { fillClasses, isLetter } from './classes'
import { attributes, clearAttributes, contents, isFull, readTag } from './tag'
import { beginsMarkup, readText } from './text'
import { fillTraits } from './value'

export { addName } from './names'

const LESS = 0x3c
const GREATER = 0x3e
const SLASH = 0x2f

/** Attributes that a tag has room for at least, unless it is the first of a call. */
const ROOM = 64

fillClasses()
fillTraits()

/** Makes bytes of code units: those above 255 become 255, which is a letter to all that reads them. */
export function narrow(length: i32): void {
  const top = i16x8.splat(255)
  for (let at: usize = 0; at < <usize>length; at += 16) {
    const units = <usize>INPUT + 2 * at
    const bytes = i8x16.narrow_i16x8_u(i16x8.min_u(v128.load(units), top), i16x8.min_u(v128.load(units, 16), top))
    v128.store(<usize>INPUT + at, bytes)
  }
}

/** Reads the text between two positions. */
export function scanText(start: i32, end: i32): void {
  readText(TOKENS, INPUT + start, INPUT + end, true)
}

/** Reads the tag whose name is at `start`. Returns the position after it, or -1 if it does not end before `length`. */
export function scanTag(start: i32, length: i32): i32 {
  clearAttributes()
  const end = readTag(TOKENS, INPUT + start, INPUT + length)
  return end === 0 ? -1 : <i32>(end - INPUT)
}

function stop(reason: i32, at: usize, less: usize): void {
  store<i32>(STOP, reason)
  store<i32>(STOP, <i32>(at - INPUT), 4)
  store<i32>(STOP, <i32>(less - INPUT), 8)
}

/** Reads tags and texts from `start` on, in the contents of elements that have markup. Returns the number of tokens. */
export function scan(start: i32, length: i32): i32 {
  const end: usize = INPUT + length
  const last: usize = TOKENS + (MAX_TOKENS - 2) * TOKEN_SIZE * 4
  let at: usize = INPUT + start
  let token: usize = TOKENS
  clearAttributes()
  for (;;) {
    if (token > last || attributes > MAX_ATTRIBUTES - ROOM) {
      stop(STOP_MORE, at, 0)
      break
    }
    if (at >= end || load<u8>(at) !== LESS || at + 1 >= end || !beginsMarkup(load<u8>(at, 1))) {
      const less = readText(token, at, end, false)
      if (less === 0) {
        stop(STOP_END, at, lessAtEnd(at, end))
        break
      }
      at = less
      token += TOKEN_SIZE * 4
    }
    let name = at + 1
    let char = <u32>load<u8>(name)
    const isEnd = char === SLASH
    if (isEnd) {
      name++
      if (name >= end) {
        stop(STOP_END, at, at)
        break
      }
      char = load<u8>(name)
      if (char === GREATER) {
        at = name + 1
        continue
      }
    }
    if (!isLetter(char)) {
      stop(STOP_DECLARATION, at, 0)
      break
    }
    const tagEnd = readTag(token, name, end)
    if (tagEnd === 0) {
      stop(isFull ? STOP_MORE : STOP_TAG, at, 0)
      break
    }
    store<i32>(token, isEnd ? END_TAG : START_TAG)
    token += TOKEN_SIZE * 4
    at = tagEnd
    if (contents !== 0 && !isEnd) {
      stop(STOP_MORE, at, 0)
      break
    }
  }
  return <i32>((token - TOKENS) / (TOKEN_SIZE * 4))
}

/** Returns the position of a `<` or `</` at the very end, or the end. */
function lessAtEnd(from: usize, end: usize): usize {
  if (end > from && load<u8>(end - 1) === LESS) return end - 1
  return end > from + 1 && load<u8>(end - 1) === SLASH && load<u8>(end - 2) === LESS ? end - 2 : end
}
