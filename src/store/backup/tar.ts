import type { FileHandle } from 'node:fs/promises'
import { text } from 'node:stream/consumers'

const BLOCK = 512
const NAME_BYTES = 100
const PREFIX_BYTES = 155
/** Larger sizes do not fit into octal digits. They are binary, as GNU tar writes them. */
const MAX_OCTAL = 8 ** 11
/** Members that are read as a whole are pieces of records, and uploads. A larger one was not written by edged. */
const MAX_WHOLE_BYTES = 1024 * 1024 * 1024
const CHUNK_BYTES = 1024 * 1024

/** Returns the header of a regular file in the format `ustar`, which every tar reads. */
export function tarHeader(path: string, size: number, seconds: number): Buffer {
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, length: number): void =>
    void header.write(value.toString(8).padStart(length - 1, '0'), at, 'latin1')
  const [prefix, name] = splitPath(path)
  header.write(name, 0, 'latin1')
  octal(0o600, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  if (size < MAX_OCTAL) octal(size, 124, 12)
  else {
    header[124] = 0x80
    header.writeBigUInt64BE(BigInt(size), 128)
  }
  octal(Math.floor(seconds), 136, 12)
  header.write('        0', 148, 'latin1')
  header.write('ustar\u000000', 257, 'latin1')
  header.write(prefix, 345, 'latin1')
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148, 'latin1')
  return header
}

/** A long path is in two fields, with a slash between them that is in neither. */
function splitPath(path: string): readonly [prefix: string, name: string] {
  if (path.length <= NAME_BYTES) return ['', path]
  const at = path.indexOf('/', path.length - NAME_BYTES - 1)
  if (at < 0 || at > PREFIX_BYTES) throw new Error(`${path} is too long for an archive`)
  return [path.slice(0, at), path.slice(at + 1)]
}

/** Returns the zeros between a member of this size and the next header. */
export const tarPadding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)

/** End of an archive. */
export const TAR_END = Buffer.alloc(2 * BLOCK)

/** A file in an archive. */
export class TarMember {
  readonly name: string
  readonly size: number
  readonly #file: FileHandle
  readonly #at: number

  constructor(file: FileHandle, at: number, of: { readonly name: string; readonly size: number }) {
    this.#file = file
    this.#at = at
    this.name = of.name
    this.size = of.size
  }

  /** Reads the content as a whole. */
  async bytes(): Promise<Buffer> {
    if (this.size > MAX_WHOLE_BYTES) throw new Error('is not an archive of edged backup')
    return await readAt(this.#file, this.#at, this.size)
  }

  async text(): Promise<string> {
    return await text(this.chunks())
  }

  /** Reads the content in chunks of at most 1 MiB. */
  async *chunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < this.size; at += CHUNK_BYTES)
      yield await readAt(this.#file, this.#at + at, Math.min(CHUNK_BYTES, this.size - at))
  }
}

/** Finds the members of an archive. Throws if it is cut off or not an archive. */
export async function* tarMembers(file: FileHandle): AsyncGenerator<TarMember> {
  for (let at = 0; ;) {
    const header = await readAt(file, at, BLOCK)
    if (header[0] === 0) return
    const text = (from: number, length: number) => header.toString('latin1', from, from + length).split('\u0000', 1)[0]!
    const prefix = text(345, PREFIX_BYTES)
    const name = `${prefix === '' ? '' : `${prefix}/`}${text(0, NAME_BYTES)}`
    const size = header[124] === 0x80 ? Number(header.readBigUInt64BE(128)) : parseInt(text(124, 12), 8)
    if (text(257, 5) !== 'ustar' || !Number.isSafeInteger(size)) throw new Error('is not an archive of edged backup')
    yield new TarMember(file, at + BLOCK, { name, size })
    at += BLOCK + size + tarPadding(size).length
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  for (let filled = 0; filled < length;) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled)
    if (bytesRead === 0) throw new Error('is cut off')
    filled += bytesRead
  }
  return bytes
}
