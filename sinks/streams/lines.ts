import { SinkError, type BatchBody } from '../../src/core/sink.js'

/**
 * Yields the records of a body by their lines, without line ends and empty lines, in groups that arrived together. A
 * line is a view of bytes that are valid until the next group is requested. If records of the format do not end in a
 * line end, the whole batch is one line. A line over 16 MiB is rejected as too large for the destination before more
 * bytes are buffered.
 */
export async function* lines(body: BatchBody): AsyncGenerator<Uint8Array[]> {
  let begun: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body.read()) {
    const group: Uint8Array[] = []
    let start = 0
    for (let end = piece.indexOf(LINE_END); end !== -1; end = piece.indexOf(LINE_END, start)) {
      let line = piece.subarray(start, end)
      if (begun.length > 0) {
        line = Buffer.concat([...begun, line])
        begun = []
        bytes = 0
      }
      if (line.length > 0) group.push(line)
      start = end + 1
    }
    if (start < piece.length) {
      bytes += piece.length - start
      if (bytes > MAX_BYTES) throw new SinkError('too_large', `a line has more than ${MAX_BYTES} bytes`)
      begun.push(Buffer.from(piece.subarray(start)))
    }
    if (group.length > 0) yield group
  }
  if (begun.length > 0) yield [Buffer.concat(begun)]
}

const LINE_END = 0x0a
const MAX_BYTES = 16 * 2 ** 20
