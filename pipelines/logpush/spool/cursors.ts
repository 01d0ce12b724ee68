/**
 * Cursors of a spool, one small file each. A file has two slots that are written alternately, so a write torn by a
 * crash leaves the state before it. A write allocates nothing on the disk. So a full disk does not block readers, whose
 * progress frees space.
 */
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { isDiskFull } from '../../../src/core/errors.js'
import { KeyedMutex } from '../../../src/core/keyed-mutex.js'
import type { Log } from '../../../src/core/log.js'
import { furthestOf } from './position.js'
import type { Cursor, CursorState, Position } from './types.js'
import { makeFolder, namesIn, syncFolder, writeDurably, type Disk } from '../../../src/disk/durable-write.js'
import { readAt, writeAt } from '../../../src/disk/positioned-io.js'

const SLOT_BYTES = 4096
const FOLDER = 'cursors'
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/

interface Slot {
  readonly sequence: number
  readonly state: CursorState
}

/** Rewrites the cursors of a spool that nobody has open. Damaged ones stay unchanged. */
export async function convertCursors(
  disk: Disk,
  spoolFolder: string,
  convert: (state: object) => object,
): Promise<void> {
  const folder = await makeFolder(disk, join(spoolFolder, FOLDER))
  for (const name of await namesIn(disk, folder)) {
    const path = join(folder, name)
    const slot = await readSlots(disk, path)
    const state = slot && convert(slot.state)
    if (state === undefined || state === slot?.state) continue
    await writeDurably(disk, path, fileBytes({ sequence: 1, state: state as CursorState }))
  }
}

/** All cursors of one spool, opened or not. */
export class Cursors {
  readonly #disk: Disk
  readonly #folder: string
  readonly #moved: () => void
  readonly #all = new Map<string, StoredCursor>()
  /** Cursors that were ended and whose files may still exist. */
  readonly #ended = new Map<string, StoredCursor>()
  /** Serializes creations and removals of files. */
  readonly #turns = new KeyedMutex()

  private constructor(disk: Disk, folder: string, moved: () => void) {
    this.#disk = disk
    this.#folder = folder
    this.#moved = moved
  }

  /**
   * Reads the cursors of a folder and makes their bytes durable. A cursor that cannot be read starts at 0, so delivered
   * records may be delivered again.
   */
  static async open(disk: Disk, spoolFolder: string, log: Log, moved: () => void): Promise<Cursors> {
    const folder = await makeFolder(disk, join(spoolFolder, FOLDER))
    const cursors = new Cursors(disk, folder, moved)
    const names = await namesIn(disk, folder)
    // A crash may have happened before the sync that follows a creation.
    await syncFolder(disk, folder)
    for (const name of names) {
      const slot = await readSlots(disk, join(folder, name))
      if (slot === undefined) log.error({ event: 'cursor_damaged', cursor: join(folder, name) })
      else await writeSlot(disk, join(folder, name), slot).catch(unlessFull)
      cursors.#add(name, slot ?? { sequence: 0, state: { next: 0 } })
    }
    return cursors
  }

  get size(): number {
    return this.#all.size
  }

  get names(): string[] {
    return [...this.#all.keys()]
  }

  get(name: string): StoredCursor | undefined {
    return this.#all.get(name)
  }

  /** Below this position no cursor needs anything; `none` if there is no cursor. */
  least(none: Position): Position {
    return leastOf(this.#all.values()) ?? none
  }

  /** The same with the cursors whose files may still exist: the next start would count what they lack as lost. */
  kept(none: Position): Position {
    return leastOf([...this.#all.values(), ...this.#ended.values()]) ?? none
  }

  /** Returns the position after all consumed records. 0 without cursors. */
  furthest(): Position {
    let furthest = 0
    for (const { state } of this.#all.values()) furthest = Math.max(furthest, state.next, furthestOf(state))
    return furthest
  }

  /** Creates a cursor, which is durable when this resolves. */
  async make(name: string, state: CursorState): Promise<StoredCursor> {
    if (!NAME.test(name)) throw new Error(`a cursor cannot be named ${name}`)
    return await this.#turns.run('', async () => {
      await writeDurably(this.#disk, join(this.#folder, name), fileBytes({ sequence: 1, state }))
      this.#ended.delete(name)
      return this.#add(name, { sequence: 1, state })
    })
  }

  /** Removes the files of ended cursors. The next call tries again to remove those that it cannot remove. */
  async clear(): Promise<void> {
    if (this.#ended.size === 0) return
    await this.#turns.run('', async () => {
      const ended = [...this.#ended.keys()]
      for (const name of ended) await this.#disk.rm(join(this.#folder, name), { force: true })
      await syncFolder(this.#disk, this.#folder)
      for (const name of ended) this.#ended.delete(name)
    })
  }

  /** Moves cursors that point before `start`. Returns the largest number of records that one cursor lost. */
  moveUp(start: Position): number {
    let lost = 0
    for (const cursor of this.#all.values()) {
      if (cursor.needs >= start) continue
      lost = Math.max(lost, start - cursor.state.next)
      // Should the disk not take it, the next start moves the cursor again.
      cursor.save({ next: Math.max(start, cursor.state.next) }).catch(() => undefined)
    }
    return lost
  }

  /** Resolves when all writes are over. */
  async idle(): Promise<void> {
    await Promise.all([...this.#all.values()].map((cursor) => cursor.idle()))
  }

  #add(name: string, slot: Slot): StoredCursor {
    const end = async () => {
      if (this.#all.get(name) !== cursor) return
      this.#all.delete(name)
      this.#ended.set(name, cursor)
      try {
        await this.clear()
      } finally {
        this.#moved()
      }
    }
    const cursor = new StoredCursor(this.#disk, join(this.#folder, name), slot, { moved: this.#moved, end })
    this.#all.set(name, cursor)
    return cursor
  }
}

class StoredCursor implements Cursor {
  readonly #disk: Disk
  readonly #path: string
  readonly #listener: { moved: () => void; end: () => Promise<void> }
  #slot: Slot
  #last: Promise<void> = Promise.resolve()
  #removed = false

  constructor(disk: Disk, path: string, slot: Slot, listener: { moved: () => void; end: () => Promise<void> }) {
    this.#disk = disk
    this.#path = path
    this.#slot = slot
    this.#listener = listener
  }

  get state(): CursorState {
    return this.#slot.state
  }

  /** The oldest position that it may ask for again. */
  get needs(): Position {
    const { next, keep = next } = this.state
    return Math.min(next, keep)
  }

  async save(state: CursorState): Promise<void> {
    const writing = this.#last.then(() => this.#write(state))
    this.#last = writing.catch(() => undefined)
    await writing
    this.#listener.moved()
  }

  async remove(): Promise<void> {
    this.#removed = true
    await this.#last
    await this.#listener.end()
  }

  async idle(): Promise<void> {
    await this.#last
  }

  async #write(state: CursorState): Promise<void> {
    if (this.#removed) throw new Error('the cursor was removed')
    const slot = { sequence: this.#slot.sequence + 1, state }
    await writeSlot(this.#disk, this.#path, slot)
    this.#slot = slot
  }
}

export type { StoredCursor }

function leastOf(cursors: Iterable<StoredCursor>): Position | undefined {
  let least: Position | undefined
  for (const { needs } of cursors) least = Math.min(least ?? needs, needs)
  return least
}

/** Content of a file with one state, of an odd sequence number. */
const fileBytes = (slot: Slot): Buffer => Buffer.concat([Buffer.alloc(SLOT_BYTES, ' '), slotBytes(slot)])

/** `5f0c2e9a {"sequence":7,"state":{...}}`, filled up with blanks. */
function slotBytes(slot: Slot): Buffer {
  const text = Buffer.from(JSON.stringify(slot))
  if (text.length + 10 > SLOT_BYTES) throw new Error('the state of a cursor is too long')
  const bytes = Buffer.alloc(SLOT_BYTES, ' ')
  bytes.write(crc32(text).toString(16).padStart(8, '0'))
  text.copy(bytes, 9)
  bytes[SLOT_BYTES - 1] = 0x0a
  return bytes
}

/** Writes a slot, even if the file has the same one. After a failed sync only another write makes it durable. */
async function writeSlot(disk: Disk, path: string, slot: Slot): Promise<void> {
  const file = await disk.open(path, 'r+')
  try {
    await writeAt(file, [slotBytes(slot)], (slot.sequence % 2) * SLOT_BYTES)
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** A disk that copies on write can be too full to write the same bytes again. */
function unlessFull(error: unknown): void {
  if (!isDiskFull(error)) throw error
}

async function readSlots(disk: Disk, path: string): Promise<Slot | undefined> {
  const file = await disk.open(path)
  try {
    const bytes = await readAt(file, 0, SLOT_BYTES * 2)
    const slots = [bytes.subarray(0, SLOT_BYTES), bytes.subarray(SLOT_BYTES)].map(readSlot)
    return slots.reduce((a, b) => (a === undefined || (b !== undefined && b.sequence > a.sequence) ? b : a))
  } finally {
    await file.close()
  }
}

function readSlot(bytes: Buffer): Slot | undefined {
  const text = bytes.toString('utf8', 9).trimEnd()
  if (bytes.toString('latin1', 0, 8) !== crc32(text).toString(16).padStart(8, '0')) return undefined
  return JSON.parse(text) as Slot
}
