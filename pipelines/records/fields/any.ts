/** Records of any shape. Their dataset has the fields that one pipeline names, found by name or JSON pointer. */
import { BACKSLASH, COLON, COMMA, QUOTE } from '../../../src/core/bytes.js'
import { dataset, type Dataset, type FieldType } from './dataset.js'
import { Scanner, ESCAPED, SPREAD, type ScannedRecord } from './scan.js'
import { decoded } from './strings.js'

/** The name of the dataset. */
export const ANY = 'any'
/** A field with all members of a record, without the braces around them. Not a name that a file can contain. */
export const MEMBERS = '\u0000members'

/** Stored form of records of any shape, which is the whole record. */
export const WHOLE: Dataset = dataset({ name: ANY, scopes: [], clock: '', fields: { [MEMBERS]: 'any' } })

/**
 * Returns a dataset with the named fields. Names are top-level members, or JSON pointers such as `/user/email`. `types`
 * has the types of declared fields. Values of other fields are compared by their JSON type.
 */
export function anyDataset(names: Iterable<string>, types: Readonly<Record<string, FieldType>> = {}): Dataset {
  const fields: Record<string, FieldType> = { [MEMBERS]: 'any' }
  for (const name of names) fields[name] = types[name] ?? 'any'
  return dataset({ name: ANY, scopes: [], clock: '', fields, defaults: [MEMBERS] })
}

/** Reads records whose fields may be nested. */
export interface RecordScanner {
  /** Throws MalformedRecord. The result is reused. */
  scan(bytes: Uint8Array, start?: number, end?: number): ScannedRecord
}

/** Returns a scanner for a dataset, also for one of any shape. */
export function scannerOf(of: Dataset): RecordScanner {
  return of.name === ANY ? new AnyScanner(of) : new Scanner(of)
}

interface Pointed {
  readonly place: number
  /** Place of the top-level member. */
  readonly from: number
  readonly rest: readonly string[]
}

class AnyScanner implements RecordScanner {
  readonly #scanner: Scanner
  readonly #members: number
  readonly #pointed: readonly Pointed[]

  constructor(of: Dataset) {
    const tokens = of.names.map((name) => (name.startsWith('/') ? tokensOf(name) : [name]))
    const names = [...of.names]
    const pointed: Pointed[] = []
    for (const [place, [first = '', ...rest]] of tokens.entries()) {
      const isPointer = of.names[place]!.startsWith('/')
      if (!isPointer) continue
      let from = names.findIndex((name, at) => name === first && !of.names[at]?.startsWith('/'))
      if (from < 0) from = names.push(first) - 1
      pointed.push({ place, from, rest })
    }
    // A pointer is not a key. A member whose key looks like a pointer is not found by that pointer.
    const keys = new Map(
      names.flatMap((name, place) => (of.names[place]?.startsWith('/') ? [] : [[name, place] as const])),
    )
    this.#scanner = new Scanner({ names, places: keys })
    this.#members = of.places.get(MEMBERS) ?? 0
    this.#pointed = pointed
  }

  scan(bytes: Uint8Array, start = 0, end = bytes.length): ScannedRecord {
    const record = this.#scanner.scan(bytes, start, end)
    const { starts, ends, marks } = record
    const open = bytes.indexOf(0x7b, start)
    const close = bytes.lastIndexOf(0x7d, end - 1)
    starts[this.#members] = open + 1
    ends[this.#members] = close
    marks[this.#members] = hasBreaks(bytes, open + 1, close) ? SPREAD : 0
    for (const { place, from, rest } of this.#pointed) {
      let at = starts[from]!
      let to = ends[from]!
      for (const token of rest) {
        if (at < 0) break
        ;[at, to] = memberOf(bytes, at, to, token)
      }
      starts[place] = at
      ends[place] = to
      if (at >= 0) marks[place] = markOf(bytes, at, to)
    }
    return record
  }
}

/** Tokens of a JSON pointer. RFC 6901, 4. */
export const tokensOf = (pointer: string): string[] =>
  pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))

function hasBreaks(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at]! < 0x20) return true
  return false
}

function markOf(bytes: Uint8Array, from: number, to: number): number {
  if (bytes[from] === QUOTE) return bytes.subarray(from, to).includes(BACKSLASH) ? ESCAPED : 0
  return hasBreaks(bytes, from, to) ? SPREAD : 0
}

const NOT_FOUND: [number, number] = [-1, 0]

/** Returns the begin and end of a member of an object, or of an item of a list. The text must be well-formed. */
function memberOf(bytes: Uint8Array, from: number, to: number, token: string): [number, number] {
  const isObject = bytes[from] === 0x7b
  if (!isObject && bytes[from] !== 0x5b) return NOT_FOUND
  let found = NOT_FOUND
  let at = spaceEnd(bytes, from + 1)
  for (let index = 0; at < to - 1; index++) {
    let isIt = !isObject && String(index) === token
    if (isObject) {
      const close = valueEnd(bytes, at, to)
      isIt = Buffer.from(decoded(bytes, at, close)).toString() === token
      at = spaceEnd(bytes, spaceEnd(bytes, close) + 1)
    }
    const end = valueEnd(bytes, at, to)
    // Of members with the same key the last one counts, as at the top level.
    if (isIt) found = [at, end]
    at = spaceEnd(bytes, end)
    if (bytes[at] !== COMMA) break
    at = spaceEnd(bytes, at + 1)
  }
  return found
}

/** Returns where white space ends. */
export function spaceEnd(bytes: Uint8Array, from: number): number {
  let at = from
  while (bytes[at]! <= 0x20) at++
  return at
}

/** Where a value of well-formed JSON text ends. */
export function valueEnd(bytes: Uint8Array, from: number, to: number): number {
  let depth = 0
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!
    if (byte === QUOTE) {
      for (at++; bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++
      if (depth === 0) return at + 1
    } else if (byte === 0x7b || byte === 0x5b) depth++
    else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 0) return at
      if (--depth === 0) return at + 1
    } else if (depth === 0 && (byte === COMMA || byte === COLON || byte <= 0x20)) return at
  }
  return to
}
