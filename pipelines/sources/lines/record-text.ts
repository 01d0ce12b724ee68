import { Output, UnfitRecord } from '../../records/index.js'
import type { LineFormat } from '../../records/text/index.js'
import { MAX_LINE_BYTES } from './line-blocks.js'

/** Returns the record of a line as JSON text, which is valid until the next call. Throws UnfitRecord. */
export type RecordText = (bytes: Uint8Array, start?: number, end?: number) => Uint8Array

/** Returns the reader of lines of a format. Undefined for JSON, whose lines are records as they are. */
export function recordText(format: LineFormat | undefined): RecordText | undefined {
  if (format === undefined) return undefined
  const output = new Output()
  return (bytes, start = 0, end = bytes.length) => {
    output.length = 0
    writeRecord(format, bytes, start, end, output)
    return output.bytes.subarray(0, output.length)
  }
}

/** Adds the record of a line to an output. Throws UnfitRecord, and then nothing is added. */
export function writeRecord(format: LineFormat, bytes: Uint8Array, start: number, end: number, output: Output): void {
  const before = output.length
  try {
    format.write(bytes, start, end, output)
    if (output.length - before > MAX_LINE_BYTES)
      throw new UnfitRecord(`the record is longer than ${MAX_LINE_BYTES} bytes`)
  } catch (error) {
    output.length = before
    throw error
  }
}
