import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { fileBytes, streamBytes, type ByteSource } from '../lines/byte-source.js'
import { HEAD_BYTES } from './file-head.js'
import { isArray, isGzip, markLength, ndjson } from '../lines/ndjson.js'

/** An opened input file, plain or gzip, with lines or one JSON array, detected from its first bytes. */
export interface InputFile {
  readonly path: string
  /** Device and inode, which identify the file under any name. */
  readonly identity: string
  /** Its first bytes. */
  readonly head: Uint8Array
  /** Bytes on disk when it was opened. */
  readonly size: number
  /** Plain lines, which can be read from any byte on, and may grow. */
  readonly plain: boolean
  /**
   * Returns its lines from a byte on. If the file is not plain, earlier bytes are read and dropped. `progress`
   * receives the number of bytes on disk as they are read.
   */
  bytes(from: number, progress: (bytes: number) => void): ByteSource
  close(): Promise<void>
}

/** Opens an input file. With `isText` its lines are not JSON. Rejects as `open` of node:fs does. */
export async function openInput(path: string, isText: boolean): Promise<InputFile> {
  const handle = await open(path, 'r')
  try {
    const { dev, ino, size } = await handle.stat()
    const head = Buffer.alloc(4096)
    const { bytesRead } = await handle.read(head, 0, head.length, 0)
    const begin = head.subarray(0, bytesRead)
    const plain = !isGzip(begin) && (isText || !isArray(begin)) && markLength(begin) === 0
    return {
      path,
      identity: `${dev}:${ino}`,
      head: begin.subarray(0, HEAD_BYTES),
      size,
      plain,
      bytes(from, progress) {
        if (plain) return counted(fileBytes(handle, from), progress)
        const stream = createReadStream(path, { highWaterMark: 1 << 18 })
        stream.on('data', ({ length }) => progress(length)).pause()
        return streamBytes(without(ndjson(stream, { isText }), from))
      },
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

const counted = (source: ByteSource, progress: (bytes: number) => void): ByteSource => ({
  ...source,
  async read(buffer, at) {
    const count = await source.read(buffer, at)
    progress(count)
    return count
  },
})

async function* without(chunks: AsyncIterable<Uint8Array>, count: number): AsyncGenerator<Uint8Array> {
  let left = count
  for await (const chunk of chunks) {
    if (left < chunk.length) yield chunk.subarray(left)
    left = Math.max(0, left - chunk.length)
  }
}
