import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** The largest file that is read, and the bytes of all files together. */
const MAX_BYTES = 16 * 1024 * 1024
const MAX_FILES = 2000

/** Reads the files of one import, within limits on their number and size. */
export class Files {
  #count = 0
  #bytes = 0

  /** Returns the text of a file. Throws an Error with the reason if it cannot be read or exceeds the limits. */
  read(path: string): string {
    if (++this.#count > MAX_FILES) throw new Error(`more than ${MAX_FILES} files are included`)
    const descriptor = openSync(path, 'r')
    try {
      const stat = fstatSync(descriptor)
      if (!stat.isFile()) throw new Error('it is not a file')
      if (this.#bytes + stat.size > MAX_BYTES) throw new Error('the files together are larger than 16 MiB')
      const buffer = Buffer.alloc(stat.size)
      const length = readSync(descriptor, buffer, 0, stat.size, 0)
      this.#bytes += length
      return buffer.toString('utf8', 0, length).replace(/^\uFEFF/, '')
    } finally {
      closeSync(descriptor)
    }
  }
}
