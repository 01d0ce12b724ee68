import type { FileHandle } from 'node:fs/promises'

/** Bytes in order, into the caller's memory. */
export interface ByteSource {
  /**
   * Fills `buffer` from `at` to its end as far as possible. Resolves with the number of bytes, 0 at the end of input.
   */
  read(buffer: Uint8Array, at: number): Promise<number>
  close(): Promise<void>
}

/** Reads a file from a byte on. Continues if the file has grown since it ended. The caller closes the handle. */
export function fileBytes(handle: FileHandle, from = 0): ByteSource {
  let position = from
  return {
    async read(buffer, at) {
      const { bytesRead } = await handle.read(buffer, at, buffer.length - at, position)
      position += bytesRead
      return bytesRead
    },
    close: async () => {},
  }
}

/** Reads an iterable, for example a stream. */
export function streamBytes(chunks: AsyncIterable<Uint8Array>): ByteSource {
  const iterator = chunks[Symbol.asyncIterator]()
  let rest: Uint8Array = new Uint8Array(0)
  return {
    async read(buffer, at) {
      while (rest.length === 0) {
        const next = await iterator.next()
        if (next.done) return 0
        rest = next.value
      }
      const taken = rest.subarray(0, buffer.length - at)
      buffer.set(taken, at)
      rest = rest.subarray(taken.length)
      return taken.length
    },
    async close() {
      await iterator.return?.()
    },
  }
}
