import type { Dataset, FieldType } from './fields/dataset.js'
import type { ScannedRecord } from './fields/scan.js'
import { readInstant, type Instant } from './timestamps.js'

/** A record is well-formed JSON, but a value does not have the type of its field. */
export class UnfitRecord extends Error {
  override readonly name = 'UnfitRecord'
}

const TEXT = 1
const NUMBER = 2
const BOOLEAN = 4
const OBJECT = 8
const LIST = 16
/** Fits every field. */
const NULL = 32

/** Type of a JSON value, by its first byte. */
const KIND_OF = Uint8Array.from({ length: 256 }, (_, byte) => kindOf(String.fromCharCode(byte)))

function kindOf(character: string): number {
  if (character === '"') return TEXT
  if (character === '-' || (character >= '0' && character <= '9')) return NUMBER
  if (character === 't' || character === 'f') return BOOLEAN
  if (character === '{') return OBJECT
  if (character === '[') return LIST
  return character === 'n' ? NULL : 0
}

const FITTING: Readonly<Record<FieldType, readonly [kinds: number, asked: string]>> = {
  any: [TEXT | NUMBER | BOOLEAN | OBJECT | LIST, 'a value'],
  string: [TEXT, 'a string'],
  int: [NUMBER, 'a number'],
  float: [NUMBER, 'a number'],
  bool: [BOOLEAN, 'true or false'],
  timestamp: [NUMBER | TEXT, 'a time, as a number or RFC 3339 text'],
  object: [OBJECT, 'an object'],
  'array[string]': [LIST, 'a list'],
  'array[int]': [LIST, 'a list'],
  'array[object]': [LIST, 'a list'],
}

/**
 * Creates the check of records from outside. Each value must be null or of its field's type, and a time must be
 * readable as one (an empty text represents none). Members of lists and objects are not checked. The check throws
 * {@link UnfitRecord} for the first field that does not fit.
 */
export function recordCheck({ names, types }: Dataset): (record: ScannedRecord) => void {
  const kinds = Uint8Array.from(types, (type) => FITTING[type][0] | NULL)
  const times = Uint8Array.from(types, (type) => Number(type === 'timestamp'))
  const instant: Instant = { seconds: 0, nanos: 0 }
  const isFree = types.map((type) => type === 'any')
  return ({ bytes, starts, ends }) => {
    // Behind the fields there may be members that only pointers go through.
    for (let place = 0; place < kinds.length; place++) {
      const start = starts[place]!
      if (start < 0 || isFree[place]) continue
      const kind = KIND_OF[bytes[start]!]!
      const fits = (kind & kinds[place]!) !== 0
      if (fits && (times[place] === 0 || kind === NULL)) continue
      const end = ends[place]!
      if (fits && ((kind === TEXT && end - start === 2) || readInstant(bytes, start, end, instant))) continue
      throw new UnfitRecord(`${names[place]} must be ${FITTING[types[place]!][1]}`)
    }
  }
}
