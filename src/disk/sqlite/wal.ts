import type { FileHandle } from 'node:fs/promises'
import { readAt, writeAt } from '../positioned-io.js'

/*
 * Write-ahead logs of SQLite (https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
 */

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
/** Magic number of a log with checksums of little-endian words, which every machine that runs edged writes. */
const MAGIC = 0x377f0682
const FORMAT_VERSION = 3_007_000
const CHUNK_BYTES = 1024 * 1024
const HEADER_RETRIES = 5

/** Two running sums over 32-bit words. */
interface Sum {
  readonly first: number
  readonly second: number
}

interface Header {
  readonly pageSize: number
  readonly firstSalt: number
  readonly secondSalt: number
  /** Where the sums of frames begin. */
  readonly sum: Sum
}

/**
 * Copies the committed frames of a write-ahead log to a file while the log grows. SQLite starts the log again from its
 * beginning after the database file has all of its frames. The frames from before and after that are copied in order.
 */
export class WalCopy {
  readonly #log: FileHandle
  readonly #into: FileHandle
  #header: Header | undefined
  /** Sums after the last committed frame. */
  #sum: Sum = { first: 0, second: 0 }
  /** Committed frames since the log started again. */
  #frames = 0
  #bytes = 0
  #pages = 0
  readonly #memory = Buffer.allocUnsafeSlow(CHUNK_BYTES + 65_536 + FRAME_HEADER_BYTES)

  constructor(log: FileHandle, into: FileHandle) {
    this.#log = log
    this.#into = into
  }

  /** Copies the frames that were committed since the last call. Resolves with false if the log lost frames that were not copied. */
  async advance(): Promise<boolean> {
    const known = this.#header
    const header = await this.#readHeader(known ? HEADER_RETRIES : 0)
    if (!header) return known === undefined
    if (known && !isSame(known, header)) {
      if (!(await this.#endOf(known, header))) return false
      this.#begin(header)
    } else if (!known) this.#begin(header)
    await this.#scan(header)
    return true
  }

  /** Size of a page in bytes. Undefined if the log is empty. */
  get pageSize(): number | undefined {
    return this.#header?.pageSize
  }

  /** Size of the database after the last commit, in pages. Undefined if nothing was committed. */
  get pages(): number | undefined {
    return this.#bytes === 0 ? undefined : this.#pages
  }

  /** Writes the copied frames over the pages of a database, oldest first. */
  async apply(database: FileHandle): Promise<void> {
    const { pageSize = 0 } = this
    const stride = FRAME_HEADER_BYTES + pageSize
    const perChunk = Math.max(Math.floor(CHUNK_BYTES / stride), 1)
    for (let at = 0; at < this.#bytes; at += perChunk * stride) {
      const end = Math.min(at + perChunk * stride, this.#bytes)
      const chunk = await readAt(this.#into, at, end, this.#memory)
      for (let frame = 0; frame < chunk.length; frame += stride) {
        const page = chunk.subarray(frame + FRAME_HEADER_BYTES, frame + stride)
        await writeAt(database, [page], (chunk.readUInt32BE(frame) - 1) * pageSize)
      }
    }
  }

  #begin(header: Header): void {
    this.#header = header
    this.#sum = header.sum
    this.#frames = 0
  }

  /** Copies the last frames from before the log started again. Resolves with false if they may be overwritten. */
  async #endOf(old: Header, next: Header): Promise<boolean> {
    if (next.pageSize !== old.pageSize || next.firstSalt !== (old.firstSalt + 1) >>> 0) return false
    const first = this.#frames
    await this.#scan(old)
    // Frames are overwritten in order, so an intact first frame means that the others were intact.
    const at = HEADER_BYTES + first * (FRAME_HEADER_BYTES + old.pageSize)
    const frame = await readAt(this.#log, at, at + FRAME_HEADER_BYTES)
    const isOverwritten = frame.length === FRAME_HEADER_BYTES && hasSalts(frame, 0, next)
    const now = await this.#readHeader(HEADER_RETRIES)
    return !isOverwritten && now !== undefined && isSame(now, next)
  }

  /** Reads again if the header is not valid, because it may be read while it is written. */
  async #readHeader(retries: number): Promise<Header | undefined> {
    const found = await this.#validHeader()
    return found || retries === 0 ? found : await this.#readHeader(retries - 1)
  }

  async #validHeader(): Promise<Header | undefined> {
    const bytes = await readAt(this.#log, 0, HEADER_BYTES)
    if (bytes.length < HEADER_BYTES || bytes.readUInt32BE(0) !== MAGIC || bytes.readUInt32BE(4) !== FORMAT_VERSION)
      return undefined
    const sum = added({ first: 0, second: 0 }, wordsOf(bytes), 0, 6)
    if (sum.first !== bytes.readUInt32BE(24) || sum.second !== bytes.readUInt32BE(28)) return undefined
    return {
      pageSize: bytes.readUInt32BE(8),
      firstSalt: bytes.readUInt32BE(16),
      secondSalt: bytes.readUInt32BE(20),
      sum,
    }
  }

  /** Copies committed frames behind the last one that was copied. */
  async #scan(header: Header): Promise<void> {
    const stride = FRAME_HEADER_BYTES + header.pageSize
    const perChunk = Math.max(Math.floor(CHUNK_BYTES / stride), 1)
    let { first, second }: Sum = this.#sum
    for (let frame = this.#frames, at = this.#bytes; ;) {
      const from = HEADER_BYTES + frame * stride
      const chunk = await readAt(this.#log, from, from + perChunk * stride, this.#memory)
      const words = wordsOf(chunk)
      let valid = 0
      let committed: { frames: number; bytes: number; pages: number; sum: Sum } | undefined
      for (let start = 0; start + stride <= chunk.length; start += stride) {
        if (!hasSalts(chunk, start, header)) break
        const head = added({ first, second }, words, start / 4, 2)
        const sum = added(head, words, (start + FRAME_HEADER_BYTES) / 4, header.pageSize / 4)
        if (sum.first !== chunk.readUInt32BE(start + 16) || sum.second !== chunk.readUInt32BE(start + 20)) break
        ;({ first, second } = sum)
        valid = start + stride
        const pages = chunk.readUInt32BE(start + 4)
        if (pages > 0) committed = { frames: frame + valid / stride, bytes: at + valid, pages, sum }
      }
      if (valid > 0) await writeAt(this.#into, [chunk.subarray(0, valid)], at)
      if (committed) {
        this.#frames = committed.frames
        this.#bytes = committed.bytes
        this.#pages = committed.pages
        this.#sum = committed.sum
      }
      if (valid < perChunk * stride) return
      frame += perChunk
      at += valid
    }
  }
}

const isSame = (a: Header, b: Header): boolean => a.firstSalt === b.firstSalt && a.secondSalt === b.secondSalt

const hasSalts = (bytes: Buffer, frame: number, header: Header): boolean =>
  bytes.readUInt32BE(frame + 8) === header.firstSalt && bytes.readUInt32BE(frame + 12) === header.secondSalt

/** The memory of `bytes` must begin at a multiple of four. */
const wordsOf = (bytes: Buffer): Uint32Array =>
  new Uint32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 4))

/** Adds an even number of words to the sums. */
function added(sum: Sum, words: Uint32Array, from: number, count: number): Sum {
  let first = sum.first | 0
  let second = sum.second | 0
  for (let at = from; at < from + count; at += 2) {
    first = (first + words[at]! + second) | 0
    second = (second + words[at + 1]! + first) | 0
  }
  return { first: first >>> 0, second: second >>> 0 }
}
