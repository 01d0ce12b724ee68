// The names of elements that the caller knows, in a table with a slot of 32 bytes for each: the first 16 characters, the
// length, the id, a number for the caller, and where the other characters are. Unused slots have the length 0.
import { firstOf } from './classes'
import { INPUT } from '../layout'

const SLOT_BITS = 10
const SLOTS = 1 << SLOT_BITS
const TABLE: usize = 0x2000
const TABLE_SIZE: usize = SLOTS * 32
const LENGTH: usize = 16
const ID: usize = 20
const VALUE: usize = 24
const REST: usize = 28
/** Characters of long names from the 17th on. */
const RESTS: usize = TABLE + TABLE_SIZE

let rests: usize = RESTS
let known: i32 = 0

/** Adds the name at the start of the text, in lower case, with its id and its value. */
export function addName(length: i32, id: i32, value: i32): void {
  known++
  let slot = firstSlot(v128.and(v128.load(INPUT), firstOf(min(length, 16))))
  while (load<i32>(slot, LENGTH) !== 0) slot = nextSlot(slot)
  v128.store(slot, v128.and(v128.load(INPUT), firstOf(min(length, 16))))
  store<i32>(slot, length, LENGTH)
  store<i32>(slot, id, ID)
  store<i32>(slot, value, VALUE)
  store<usize>(slot, rests, REST)
  if (length <= 16) return
  memory.copy(rests, INPUT + 16, length - 16)
  rests += length - 16
}

/** Returns the slot of the name at `at`, in any case, or 0. */
export function findName(at: usize, length: i32): usize {
  const name = v128.and(lower(v128.load(at)), firstOf(min(length, 16)))
  let slot = firstSlot(name)
  while (load<i32>(slot, LENGTH) !== 0) {
    const isEqual = i8x16.all_true(i8x16.eq(v128.load(slot), name)) && load<i32>(slot, LENGTH) === length
    if (isEqual && (length <= 16 || hasRest(at + 16, load<usize>(slot, REST), length - 16))) return slot
    slot = nextSlot(slot)
  }
  return 0
}

export function idOf(slot: usize): i32 {
  return slot === 0 ? known : load<i32>(slot, ID)
}

export function valueOf(slot: usize): i32 {
  return slot === 0 ? 0 : load<i32>(slot, VALUE)
}

function lower(chars: v128): v128 {
  const isUpper = i8x16.lt_u(i8x16.sub(chars, i8x16.splat(0x41)), i8x16.splat(26))
  return v128.or(chars, v128.and(isUpper, i8x16.splat(0x20)))
}

function firstSlot(name: v128): usize {
  const key = i64x2.extract_lane(name, 0) ^ (i64x2.extract_lane(name, 1) * 0xddfea08eb382d)
  const slot = <usize>((<u64>key * 0x9e3779b97f4a7) >> (64 - SLOT_BITS))
  return TABLE + 32 * slot
}

/** The first slot follows the last. */
function nextSlot(slot: usize): usize {
  const next = slot + 32
  return next === TABLE + TABLE_SIZE ? TABLE : next
}

function hasRest(at: usize, rest: usize, length: i32): bool {
  for (let index: usize = 0; index < <usize>length; index++) {
    const char = <u32>load<u8>(at + index)
    if ((char - 0x41 < 26 ? char | 0x20 : char) !== load<u8>(rest + index)) return false
  }
  return true
}
