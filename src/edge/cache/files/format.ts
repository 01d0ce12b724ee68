import { createHash } from 'node:crypto'
import zlib from 'node:zlib'
import type { RawHeaders } from '../../../http/headers.js'
import type { Freshness } from '../entries/policy.js'

/*
 * A file of the disk tier has two slots for the head, then the body. A revalidation writes the head into the other
 * slot, so a write that is cut off leaves the earlier head. Each head has a checksum, and the checksums of the body's
 * blocks.
 */

const MAGIC = 0x45444743
const VERSION = 1
/** Bytes before the JSON of a head: magic, version, slot size, sequence, length, checksum. */
const PREFIX = 20
const UNIT = 4096
const MAX_UNITS = 16
/** Bytes of a body with one checksum. */
export const CHECKED_BYTES = 65_536
const CRC_BYTES = 4
/** Bytes that a head can grow by at a revalidation. */
const SLACK = 256

/** Everything about a stored response but its bytes. */
export interface FileHead {
  readonly key: string
  readonly zone: string
  readonly url: string
  readonly tags: readonly string[]
  readonly vary: readonly string[]
  readonly varyKey: string
  readonly status: number
  readonly fields: RawHeaders
  readonly freshness: Freshness
  /** Milliseconds since 1970 at which the response arrived. */
  readonly arrivedAt: number
  /** Number of the last purge when its fetch began. */
  readonly born: number
  readonly length: number
  /** Checksums of the blocks of the body, base64. Without a body the file only names the fields in `vary`. */
  readonly checksums?: string
}

export interface ReadHead {
  readonly head: FileHead
  readonly sequence: number
  /** Bytes of one slot. */
  readonly slot: number
}

/** Checksums of a body in blocks of {@link CHECKED_BYTES}. */
export class Checksums {
  readonly #done: number[] = []
  #current = 0
  #filled = 0

  add(chunk: Uint8Array): void {
    let from = 0
    while (from < chunk.length) {
      const part = chunk.subarray(from, from + CHECKED_BYTES - this.#filled)
      this.#current = zlib.crc32(part, this.#current)
      this.#filled += part.length
      from += part.length
      if (this.#filled === CHECKED_BYTES) this.#close()
    }
  }

  /** Returns all checksums. Nothing may be added after that. */
  text(): string {
    if (this.#filled > 0) this.#close()
    const bytes = Buffer.allocUnsafe(this.#done.length * CRC_BYTES)
    this.#done.forEach((value, i) => bytes.writeUInt32LE(value, i * CRC_BYTES))
    return bytes.toString('base64')
  }

  #close(): void {
    this.#done.push(this.#current)
    this.#current = 0
    this.#filled = 0
  }
}

/** Returns whether a block of a body has its checksum. */
export const isIntact = (block: Uint8Array, checksums: Buffer, index: number): boolean =>
  checksums.length >= (index + 1) * CRC_BYTES && zlib.crc32(block) === checksums.readUInt32LE(index * CRC_BYTES)

/** Returns the slot size for a head with a body of `length` bytes, or undefined if it would be too large. */
export function slotFor(head: Omit<FileHead, 'checksums' | 'length'>, length: number): number | undefined {
  const checksums = Math.ceil((Math.ceil(length / CHECKED_BYTES) * CRC_BYTES * 4) / 3) + 4
  const units = Math.ceil((PREFIX + Buffer.byteLength(JSON.stringify(head)) + checksums + SLACK) / UNIT)
  return units > MAX_UNITS ? undefined : units * UNIT
}

/** Returns the bytes of a slot, or undefined if the head does not fit. */
export function encodeHead(head: FileHead, slot: number, sequence: number): Buffer | undefined {
  const json = Buffer.from(JSON.stringify(head))
  if (PREFIX + json.length > slot) return undefined
  const bytes = Buffer.alloc(slot)
  bytes.writeUInt32BE(MAGIC, 0)
  bytes.writeUInt16BE(VERSION, 4)
  bytes.writeUInt16BE(slot / UNIT, 6)
  bytes.writeUInt32BE(sequence, 8)
  bytes.writeUInt32BE(json.length, 12)
  json.copy(bytes, PREFIX)
  bytes.writeUInt32BE(checksumOf(bytes, json.length), 16)
  return bytes
}

const checksumOf = (slot: Buffer, length: number): number =>
  zlib.crc32(slot.subarray(PREFIX, PREFIX + length), zlib.crc32(slot.subarray(0, 16)))

/**
 * Returns the newest valid head in the beginning of a file, or the number of bytes that are needed to read it. `isAll`
 * is true if the file has no more bytes, since a file without a body ends after the first slot.
 */
export function decodeHead(bytes: Buffer, isAll: boolean): ReadHead | { readonly needed: number } | undefined {
  const units = [0, 1].map((i) => unitsAt(bytes, i))
  const slot = (units[0] ?? units[1] ?? 0) * UNIT
  if (slot === 0) return undefined
  if (bytes.length < 2 * slot && !isAll) return { needed: 2 * slot }
  const heads = [0, slot].flatMap((at) => readSlot(bytes.subarray(at, at + slot), slot) ?? [])
  return heads.sort((a, b) => b.sequence - a.sequence)[0]
}

/** Returns the slot size in units, as the slot at the beginning or, if that is damaged, one of the next says. */
function unitsAt(bytes: Buffer, index: number): number | undefined {
  if (index === 0) return validUnits(bytes, 0)
  for (let at = UNIT; at + PREFIX <= bytes.length && at <= MAX_UNITS * UNIT; at += UNIT)
    if (validUnits(bytes, at) === at / UNIT) return at / UNIT
  return undefined
}

function validUnits(bytes: Buffer, at: number): number | undefined {
  if (bytes.length < at + PREFIX || bytes.readUInt32BE(at) !== MAGIC || bytes.readUInt16BE(at + 4) !== VERSION)
    return undefined
  const units = bytes.readUInt16BE(at + 6)
  return units > 0 && units <= MAX_UNITS ? units : undefined
}

function readSlot(bytes: Buffer, slot: number): ReadHead | undefined {
  if (validUnits(bytes, 0) !== slot / UNIT) return undefined
  const length = bytes.readUInt32BE(12)
  if (PREFIX + length > bytes.length || bytes.readUInt32BE(16) !== checksumOf(bytes, length)) return undefined
  const head = JSON.parse(bytes.toString('utf8', PREFIX, PREFIX + length)) as FileHead
  return { head, sequence: bytes.readUInt32BE(8), slot }
}

/** Bytes that a file occupies. */
export const fileBytes = (slot: number, length: number): number => Math.ceil((2 * slot + length) / UNIT) * UNIT

const hash = (text: string, digits: number): string => createHash('sha256').update(text).digest('hex').slice(0, digits)
const URL_DIGITS = 16
const KEY_DIGITS = 32

/** Returns the beginning of the names of all files of a URL. */
export const urlPrefix = (zone: string, url: string): string => hash(`${zone}\n${url}`, URL_DIGITS)

/** Returns the name of a file. The key in the file is compared with the whole key of a request. */
export const fileName = (zone: string, url: string, key: string): string => urlPrefix(zone, url) + hash(key, KEY_DIGITS)

/** Returns the key of a response among those that differ by Vary. */
export const variantKey = (key: string, varyKey: string): string => `${key}\n\n${varyKey}`

const NAME = new RegExp(`^[0-9a-f]{${URL_DIGITS + KEY_DIGITS}}$`)

/** Returns whether a file in the folder of the cache can be one of its files. */
export const isFileName = (name: string): boolean => NAME.test(name)

/** Folders below the folder of the cache. */
export const FOLDERS: readonly string[] = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'))

/** Returns the path of a file below the folder of the cache. */
export const pathOf = (name: string): string => `${name.slice(0, 2)}/${name}`

/** Ending of files that are being written. */
export const PARTIAL = '.part'
