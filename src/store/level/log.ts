import { open } from 'node:fs/promises'
import { EventLoopYield } from '../../core/schedule/event-loop-yield.js'
import { readAt } from '../../disk/positioned-io.js'
import { crc32c } from './crc32c.js'

/**
 * Reads files in the log format of LevelDB, which its logs and manifests have:
 *
 *     block    32 KiB, the last one shorter; fewer than 7 bytes at its end are not used
 *     record   checksum (4 bytes), length (2), type (1), payload; a record never crosses a block
 *     type     1 whole, 2 first, 3 middle, 4 last part of one write call
 *
 * LevelDB itself drops the rest of a block after a damaged record, and does not report it.
 */
const BLOCK_BYTES = 32 * 1024
const HEADER_BYTES = 7
const [WHOLE, FIRST, MIDDLE, LAST] = [1, 2, 3, 4] as const

/** The first place of a file that LevelDB does not read as it was written. */
export interface LogDamage {
  readonly offset: number
  /**
   * Whether a write that began later is intact. Each write begins after the one before is synced, so it proves damage. Without
   * it, the place can also be a write that a power failure left incomplete.
   */
  isCertain: boolean
}

const slices = new EventLoopYield()

/** Calls `use` with everything that LevelDB reads from a file. Returns the damage, if there is any. */
export async function readLevelLog(path: string, use: (written: Buffer) => void): Promise<LogDamage | undefined> {
  const file = await open(path)
  const reader = new BlockReader(use)
  try {
    for (let at = 0; ; at += BLOCK_BYTES) {
      const block = await readAt(file, at, at + BLOCK_BYTES)
      reader.read(block, at)
      if (block.length < BLOCK_BYTES) return reader.end()
      await slices.yieldToEventLoop()
    }
  } finally {
    await file.close()
  }
}

class BlockReader {
  readonly #use: (written: Buffer) => void
  #damage: LogDamage | undefined
  /** Parts of a write whose last part was not read yet, and where the first one is. */
  #parts: Buffer[] | undefined
  #began = 0

  constructor(use: (written: Buffer) => void) {
    this.#use = use
  }

  read(block: Buffer, at: number): void {
    let position = 0
    while (position + HEADER_BYTES <= block.length) {
      const payload = payloadAt(block, position)
      if (!payload) return this.#skip(block, at, position)
      this.#record(block[position + 6]!, payload, at + position)
      position += HEADER_BYTES + payload.length
    }
    if (block.length < BLOCK_BYTES && position < block.length) this.#damaged(at + position)
  }

  end(): LogDamage | undefined {
    if (this.#parts) this.#damaged(this.#began)
    return this.#damage
  }

  #record(type: number, payload: Buffer, offset: number): void {
    if (type === WHOLE || type === FIRST) {
      if (this.#parts) this.#damaged(this.#began)
      this.#begins()
      this.#parts = undefined
      if (type === WHOLE) return this.#use(payload)
      this.#parts = [payload]
      this.#began = offset
      return
    }
    if (!this.#parts) return this.#damaged(offset)
    this.#parts.push(payload)
    if (type === MIDDLE) return
    const written = Buffer.concat(this.#parts)
    this.#parts = undefined
    this.#use(written)
  }

  /** Searches the rest of a damaged block for the begin of another write. The length of the record cannot be trusted. */
  #skip(block: Buffer, at: number, from: number): void {
    this.#damaged(this.#parts ? this.#began : at + from)
    this.#parts = undefined
    for (let position = from + 1; position + HEADER_BYTES <= block.length; position += 1) {
      const type = block[position + 6]
      if ((type === WHOLE || type === FIRST) && payloadAt(block, position)) return this.#begins()
    }
  }

  #damaged(offset: number): void {
    this.#damage ??= { offset, isCertain: false }
  }

  #begins(): void {
    if (this.#damage) this.#damage.isCertain = true
  }
}

/** Returns the payload of the record at a position. Undefined if the record is not intact. */
function payloadAt(block: Buffer, position: number): Buffer | undefined {
  const type = block[position + 6]!
  const end = position + HEADER_BYTES + block.readUInt16LE(position + 4)
  if (type < WHOLE || type > LAST || end > block.length) return undefined
  const sum = crc32c(block.subarray(position + 6, end))
  if (block.readUInt32LE(position) !== masked(sum)) return undefined
  return block.subarray(position + HEADER_BYTES, end)
}

/** LevelDB stores no checksum as it is, because a checksum of bytes with checksums in them is weak. */
const masked = (sum: number): number => (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0

const BATCH_HEADER_BYTES = 12
const PUT = 1

/** Returns the last value that a write of LevelDB stores under a key, if it does. */
export function lastPut(written: Buffer, wanted: string): Buffer | undefined {
  let found: Buffer | undefined
  const at = { position: BATCH_HEADER_BYTES }
  while (at.position < written.length) {
    const type = written[at.position++]
    const key = field(written, at)
    const value = type === PUT ? field(written, at) : undefined
    if (value && key.length === wanted.length && key.toString('latin1') === wanted) found = value
  }
  return found
}

/** Reads bytes with their length, a varint, before them. */
function field(bytes: Buffer, at: { position: number }): Buffer {
  let length = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at.position++] ?? 0
    length |= (byte & 0x7f) << shift
    if (byte < 0x80) break
  }
  const start = at.position
  at.position += length
  return bytes.subarray(start, at.position)
}
