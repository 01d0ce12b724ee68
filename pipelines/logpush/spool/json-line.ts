import { MEMBERS, Output, type ScannedRecord } from '../../records/index.js'
import { copyBytes, viewOf } from '../../records/fields/copy.js'

const OPEN = 0x7b
const CLOSE = 0x7d
const COMMA = 0x2c

interface Keys {
  /** Keys with their colons, one after the other. */
  readonly view: DataView
  /** Begin of each key in `view`, and the end of the last one. */
  readonly starts: Int32Array
}

/** Keys by the names of a dataset. */
const KEYS = new WeakMap<readonly string[], Keys>()

function keysOf(names: readonly string[]): Keys {
  const known = KEYS.get(names)
  if (known !== undefined) return known
  const texts = names.map((name) => (name === MEMBERS ? '' : `"${name}":`))
  const starts = new Int32Array(names.length + 1)
  for (const [place, text] of texts.entries()) starts[place + 1] = starts[place]! + Buffer.byteLength(text)
  const keys = { view: viewOf(Buffer.from(texts.join(''))), starts }
  KEYS.set(names, keys)
  return keys
}

/** Adds a record as one JSON object. `names` are the names of the fields of its dataset. */
export function addJsonLine({ bytes, starts, ends }: ScannedRecord, names: readonly string[], output: Output): void {
  const keys = keysOf(names)
  const source = viewOf(bytes)
  let length = 2
  for (let place = 0; place < names.length; place++)
    if (starts[place]! >= 0) length += 1 + keys.starts[place + 1]! - keys.starts[place]! + ends[place]! - starts[place]!
  output.reserve(length)
  const { view } = output
  let at = output.length
  const begin = at + 1
  view.setUint8(at++, OPEN)
  for (let place = 0; place < names.length; place++) {
    const start = starts[place]!
    if (start < 0) continue
    if (at > begin) view.setUint8(at++, COMMA)
    at = copyBytes(keys.view, keys.starts[place]!, keys.starts[place + 1]!, view, at)
    at = copyBytes(source, start, ends[place]!, view, at)
  }
  view.setUint8(at++, CLOSE)
  output.length = at
}

/** Returns a record as one JSON object, in its own bytes. */
export function jsonLine(record: ScannedRecord, names: readonly string[]): Uint8Array {
  const output = new Output()
  addJsonLine(record, names, output)
  return output.bytes.slice(0, output.length)
}
