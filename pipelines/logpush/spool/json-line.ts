import { MEMBERS, type ScannedRecord } from '../../records/index.js'

/** Returns a record as one JSON object, in its own bytes. `names` are the names of the fields of its dataset. */
export function jsonLine({ bytes, starts, ends }: ScannedRecord, names: readonly string[]): Uint8Array {
  const pieces: Uint8Array[] = [Buffer.from('{')]
  for (const [place, name] of names.entries()) {
    if (starts[place]! < 0) continue
    if (name === MEMBERS) pieces.push(bytes.subarray(starts[place], ends[place]))
    else
      pieces.push(Buffer.from(`${pieces.length > 1 ? ',' : ''}"${name}":`), bytes.subarray(starts[place], ends[place]))
  }
  pieces.push(Buffer.from('}'))
  return Buffer.concat(pieces)
}
