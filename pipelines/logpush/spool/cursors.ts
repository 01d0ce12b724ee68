/**
 * The cursors of a spool, one small file each. A file has two places that are written in turn, so that a write that a
 * crash tears leaves the state before it. Nothing is allocated for it: a full disk does not hold up the readers, whose
 * progress is what makes room.
 */
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Log } from '../../../src/core/log.js'
import { furthestOf } from '../spool-position.js'
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

/** Rewrites the cursors of a spool that nobody has open. Damaged ones stay as they are. */
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

  private constructor(disk: Disk, folder: string, moved: () => void) {
    this.#disk = disk
    this.#folder = folder
    this.#moved = moved
  }

  /** Reads those that there are. One that cannot be read starts at 0: what was delivered may be delivered again. */
  static async open(disk: Disk, spoolFolder: string, log: Log, moved: () => void): Promise<Cursors> {
    const cursors = new Cursors(disk, await makeFolder(disk, join(spoolFolder, FOLDER)), moved)
    for (const name of await namesIn(disk, cursors.#folder)) {
      const slot = await readSlots(disk, join(cursors.#folder, name))
      if (slot === undefined) log.error({ event: 'cursor_damaged', cursor: join(cursors.#folder, name) })
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
    let least = Infinity
    for (const { needs } of this.#all.values()) least = Math.min(least, needs)
    return least === Infinity ? none : least
  }

  /** The position behind all that a reader has taken; 0 without cursors. */
  furthest(): Position {
    let furthest = 0
    for (const { state } of this.#all.values()) furthest = Math.max(furthest, state.next, furthestOf(state))
    return furthest
  }

  /** Makes a cursor; durable when it resolves. */
  async make(name: string, state: CursorState): Promise<StoredCursor> {
    if (!NAME.test(name)) throw new Error(`a cursor cannot be named ${name}`)
    await writeDurably(this.#disk, join(this.#folder, name), fileBytes({ sequence: 1, state }))
    return this.#add(name, { sequence: 1, state })
  }

  /** Moves cursors that point before `start`. Gives the most records that one of them lost. */
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
      await this.#disk.rm(join(this.#folder, name), { force: true })
      await syncFolder(this.#disk, this.#folder)
      this.#all.delete(name)
      this.#moved()
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
    const file = await this.#disk.open(this.#path, 'r+')
    try {
      await writeAt(file, [slotBytes(slot)], (slot.sequence % 2) * SLOT_BYTES)
      await file.datasync()
    } finally {
      await file.close()
    }
    this.#slot = slot
  }
}

export type { StoredCursor }

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
