import { SinkError, type BatchBody } from '../../src/core/sink.js'

/**
 * The records of a body by their lines, without line ends and empty lines, in groups that came together. A line is a
 * view of bytes that are good until the next group is asked for. Formats whose records do not end in a line end make one
 * line of the whole batch. A line beyond 16 MiB rejects as too large for the destination, before more of it is held.
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
