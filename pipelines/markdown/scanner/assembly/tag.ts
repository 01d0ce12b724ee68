import {
  ATTRIBUTES,
  ATTRIBUTE_NAME,
  ATTRIBUTE_NAME_END,
  ATTRIBUTE_SIZE,
  ATTRIBUTE_TRAITS,
  ATTRIBUTE_VALUE,
  ATTRIBUTE_VALUE_END,
  INPUT,
  MAX_ATTRIBUTES,
  TAG_ATTRIBUTES,
  TAG_ATTRIBUTES_END,
  TAG_BITS,
  TAG_ID,
  TAG_NAME,
  TAG_NAME_END,
  TAG_SELF_CLOSING,
} from '../layout'
import { ATTRIBUTE_NAME_ENDS, endsIn, isWhite, TAG_NAME_ENDS } from './classes'
import { findName, idOf, valueOf } from './names'
import { readValue, valueTraits } from './value'

const SLASH = 0x2f
const EQUALS = 0x3d
const GREATER = 0x3e
const QUOTE = 0x22
const APOSTROPHE = 0x27

/** Number of attributes in the table. */
export let attributes: i32 = 0
/** The table was full before the end of the tag. */
export let isFull: bool = false
/** What the caller gave for the name of the tag that was read last. */
export let contents: i32 = 0

let bits: i32 = 0
let selfClosing: i32 = 0

export function clearAttributes(): void {
  attributes = 0
  isFull = false
}

/** Reads the tag whose name is at `name`, and writes it to `token`. Returns the position after its `>`, or 0 if that is missing. */
export function readTag(token: usize, name: usize, end: usize): usize {
  const nameEnd = find(name, end, TAG_NAME_ENDS)
  if (nameEnd === 0) return 0
  const first = attributes
  bits = 0
  selfClosing = 0
  const tagEnd = load<u8>(nameEnd) === GREATER ? nameEnd + 1 : readAttributes(nameEnd, end)
  if (tagEnd === 0) return 0
  const slot = findName(name, <i32>(nameEnd - name))
  contents = valueOf(slot)
  store<i32>(token, idOf(slot), TAG_ID * 4)
  store<i32>(token, <i32>(name - INPUT), TAG_NAME * 4)
  store<i32>(token, <i32>(nameEnd - INPUT), TAG_NAME_END * 4)
  store<i32>(token, first, TAG_ATTRIBUTES * 4)
  store<i32>(token, attributes, TAG_ATTRIBUTES_END * 4)
  store<i32>(token, bits, TAG_BITS * 4)
  store<i32>(token, selfClosing, TAG_SELF_CLOSING * 4)
  return tagEnd
}

/** Returns the position of the first character of a class at or after `at`, or 0 if the text ends before. */
function find(at: usize, end: usize, ends: u8): usize {
  let found: i32
  while ((found = endsIn(v128.load(at), ends)) === 0) {
    at += 16
    if (at >= end) return 0
  }
  at += ctz(found)
  return at < end ? at : 0
}

/** Returns the position of the first character other than white space, or the end. */
function skipWhite(at: usize, end: usize): usize {
  while (at < end && isWhite(load<u8>(at))) at++
  return at
}

function readAttributes(from: usize, end: usize): usize {
  const first = attributes
  let at = from
  let valueEnd: usize = 0
  while (at < end) {
    let char: u32 = load<u8>(at)
    if (char === GREATER) {
      // The slash may be part of a value without quotes.
      selfClosing = i32(load<u8>(at - 1) === SLASH && valueEnd < at)
      return at + 1
    }
    if (char === SLASH || isWhite(char)) {
      at++
      continue
    }
    // A name may begin with `=`, and with nothing else that ends one.
    const name = at
    const nameEnd = find(at + 1, end, ATTRIBUTE_NAME_ENDS)
    if (nameEnd === 0) return 0
    at = skipWhite(nameEnd, end)
    let value = nameEnd
    valueEnd = nameEnd
    let traits = 0
    if (at < end && load<u8>(at) === EQUALS) {
      at = skipWhite(at + 1, end)
      if (at >= end) return 0
      char = load<u8>(at)
      const isQuoted = char === QUOTE || char === APOSTROPHE
      value = isQuoted ? at + 1 : at
      valueEnd = readValue(value, end, isQuoted ? <u8>char : 0)
      at = isQuoted ? valueEnd + 1 : valueEnd
      if (valueEnd === 0) return 0
      traits = valueTraits
    }
    if (attributes < MAX_ATTRIBUTES) add(name, nameEnd, value, valueEnd, traits)
    else if (first > 0) {
      isFull = true
      return 0
    }
  }
  return 0
}

function add(name: usize, nameEnd: usize, value: usize, valueEnd: usize, traits: i32): void {
  bits |= 1 << (<i32>load<u8>(name) + 3 * <i32>(nameEnd - name))
  const attribute: usize = ATTRIBUTES + attributes++ * ATTRIBUTE_SIZE * 4
  store<i32>(attribute, <i32>(name - INPUT), ATTRIBUTE_NAME * 4)
  store<i32>(attribute, <i32>(nameEnd - INPUT), ATTRIBUTE_NAME_END * 4)
  store<i32>(attribute, <i32>(value - INPUT), ATTRIBUTE_VALUE * 4)
  store<i32>(attribute, <i32>(valueEnd - INPUT), ATTRIBUTE_VALUE_END * 4)
  store<i32>(attribute, traits, ATTRIBUTE_TRAITS * 4)
}
