import { open, type FileHandle } from 'node:fs/promises'
import { hasHead, HEAD_BYTES, headOf, identityOf, NO_HEAD, readHead, type Head } from './file-head.js'

/** Stored members of a generation. */
export interface StoredGeneration {
  readonly path: string
  readonly identity: string
  readonly head: Head
  readonly offset: number
  readonly line: number
  readonly midLine: boolean
  readonly size: number
  readonly done: boolean
  readonly lost: boolean
  readonly rotated: boolean
}

/** One content of a followed file, from its creation or last truncation up to its deletion or next truncation. */
export class Generation {
  /** Name under which it was found first. */
  readonly path: string
  /** Device and inode of the file that has the content. */
  identity: string
  head: Head
  /** Undefined while it is not open. */
  handle: FileHandle | undefined
  /** Bytes before it were read. If `midLine`, it is inside a line that is too long. */
  offset = 0
  line = 1
  midLine = false
  /** Time at which another file got its name or the name was deleted, in ms of a monotonic clock. */
  rotatedAt: number | undefined
  /** Time at which it was last seen to grow, in ms of a monotonic clock. */
  grewAt: number
  size = 0
  /** Size at which no further line was found. */
  emptyAt = -1
  /** Nothing more is read from it. */
  done = false
  /** Its content cannot be found any more. */
  lost = false
  #mtimeMs = -1

  constructor(path: string, identity: string, head: Head, now: number, handle?: FileHandle) {
    this.path = path
    this.identity = identity
    this.head = head
    this.handle = handle
    this.grewAt = now
  }

  /** Opens a file as a new generation. Rejects as `open` of node:fs does. */
  static async open(path: string, now: number): Promise<{ generation: Generation; begin: Uint8Array }> {
    const handle = await open(path, 'r')
    try {
      const found = await handle.stat()
      const begin = await readHead(handle)
      return { generation: new Generation(path, identityOf(found), headOf(begin), now, handle), begin }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  get stored(): StoredGeneration {
    const { path, identity, head, offset, line, midLine, size, done, lost } = this
    return { path, identity, head, offset, line, midLine, size, done, lost, rotated: this.rotatedAt !== undefined }
  }

  static restored({ path, identity, head, ...rest }: StoredGeneration, now: number): Generation {
    const generation = new Generation(path, identity, head, now)
    generation.offset = rest.offset
    generation.line = rest.line
    generation.midLine = rest.midLine
    generation.size = rest.size
    generation.done = rest.done
    generation.lost = rest.lost
    if (rest.rotated) generation.rotatedAt = now
    return generation
  }

  /** Returns whether the file has lost this content, because it was truncated or written again. Stores its size. */
  async changed(now: number): Promise<boolean> {
    if (this.handle === undefined) return false
    const { size, mtimeMs } = await this.handle.stat()
    if (size < this.offset || size < this.head.bytes) return true
    if (size === this.size && mtimeMs === this.#mtimeMs) return false
    const begin = await readHead(this.handle)
    if (!hasHead(begin, this.head)) return true
    if (this.head.bytes < HEAD_BYTES && begin.length > this.head.bytes) this.head = headOf(begin)
    if (size !== this.size) this.grewAt = now
    this.size = size
    this.#mtimeMs = mtimeMs
    return false
  }

  /** Returns the current content of the same file. The old content continues in a copy or is finished. */
  renewed(now: number, begin: Uint8Array): Generation {
    const next = new Generation(
      this.path,
      this.identity,
      begin.length === 0 ? NO_HEAD : headOf(begin),
      now,
      this.handle,
    )
    this.handle = undefined
    return next
  }

  async close(): Promise<void> {
    const { handle } = this
    this.handle = undefined
    await handle?.close()
  }
}
