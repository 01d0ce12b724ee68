import { basename, join } from 'node:path'
import type { Dataset, Output, ScannedRecord } from '../../records/index.js'
import type { Frame, Position } from './types.js'
import type { BlockCache, SharedBlock } from './block-cache.js'
import { makeFolder, namesIn, writeDurably, type Disk } from '../../../src/disk/durable-write.js'
import { addJsonLine, jsonLine } from './json-line.js'
import { fingerprint, FrameRecords, recordRoom, type RecordRoom } from './layout.js'
import type { LossCounter } from './loss-counter.js'
import type { OpenFiles } from './open-files.js'
import type { Block, Damage, FramePlace, Segment } from './segment.js'

/** Maximum number of positions with a known next offset. Readers continue where they were. */
const MAX_TRAILS = 64
/** Maximum number of damaged pieces that a spool stores for inspection. Further ones are only counted. */
const MAX_DAMAGES = 64
const DAMAGED = 'damaged'

export interface ReaderDeps {
  readonly disk: Disk
  readonly files: OpenFiles
  readonly folder: string
  readonly dataset: Dataset
  readonly cache: BlockCache
  readonly losses: LossCounter
}

/** The block in which a position is found. */
interface Trail {
  readonly segment: Segment
  readonly first: Position
  readonly offset: number
}

/** Finds frames in the segments of a spool and skips damaged pieces. */
export class Reader {
  readonly #deps: ReaderDeps
  readonly #fingerprint: number
  /** Memory for the records of its frames. One is enough, because no reader waits while it uses a record. */
  readonly #room: RecordRoom
  /** Trails by the position after a returned frame. */
  readonly #trails = new Map<Position, Trail>()
  readonly #gaps = new WeakSet<Segment>()
  readonly #damages = new Map<string, Promise<void>>()

  constructor(deps: ReaderDeps) {
    this.#deps = deps
    this.#fingerprint = fingerprint(deps.dataset.names)
    this.#room = recordRoom(deps.dataset.names.length)
  }

  /**
   * Returns the frame of a segment that holds `position`, or the next one. Undefined if there is none before `end`, the
   * start of the next segment.
   */
  async find(segment: Segment, position: Position, end: Position): Promise<Frame | undefined> {
    const trail = this.#trails.get(position)
    const from = trail?.segment === segment ? trail : segment.before(position)
    let offset = from.offset
    let expected = from.first
    while (offset < segment.size) {
      const shared = await this.#deps.cache.block(segment, offset)
      if (!('block' in shared)) {
        offset = await this.#goAround(segment, shared, expected, end)
        if (offset >= segment.size) expected = end
        continue
      }
      const found = await this.#first(segment, shared.block, position)
      if (found !== undefined && found.place.first < end) {
        const { place, places } = found
        this.#follow(segment, shared.block, place, offset)
        return new StoredFrame(shared, place, places, this.#deps.dataset, this.#room)
      }
      const last = shared.block.frames.at(-1)
      const { next } = shared.block
      shared.letGo()
      if (found !== undefined) return undefined
      if (last !== undefined) expected = last.first + last.count
      offset = next
    }
    if (expected < end) this.#tellGap(segment, end - expected)
    return undefined
  }

  /** The frame that holds `position`, if it follows one that was read and its block is in memory. */
  cached(segment: Segment, position: Position, end: Position): Frame | undefined {
    const trail = this.#trails.get(position)
    if (trail?.segment !== segment) return undefined
    const { cache, dataset } = this.#deps
    const shared = cache.kept(segment, trail.offset)
    if (shared === undefined) return undefined
    const [place] = firstFrom(shared.block, position)
    const holds = place !== undefined && place.first <= position && place.first < end
    if (!holds || place.fingerprint !== this.#fingerprint) {
      shared.letGo()
      return undefined
    }
    this.#follow(segment, shared.block, place, trail.offset)
    return new StoredFrame(shared, place, 'the same', dataset, this.#room)
  }

  /** Remembers the offset of the frame after one. */
  #follow(segment: Segment, { frames, next }: Block, place: FramePlace, offset: number): void {
    this.#leaveTrail({ segment, first: place.first + place.count, offset: place === frames.at(-1) ? next : offset })
  }

  /** Reports a segment that ends before the next one begins, because files are missing or shorter than they were. */
  #tellGap(segment: Segment, records: number): void {
    if (this.#gaps.has(segment)) return
    this.knowGap(segment)
    this.#deps.losses.add('damage', records, { segment: basename(segment.path) })
  }

  /** The records between a segment and the next are known to be missing. */
  knowGap(segment: Segment): void {
    this.#gaps.add(segment)
  }

  /** Returns the first frame of a block, from a position on, whose field indexes are known. */
  async #first(segment: Segment, block: Block, position: Position) {
    for (const place of firstFrom(block, position)) {
      const places = await this.#places(segment, place.fingerprint)
      if (places !== undefined) return { place, places }
      this.#deps.losses.add('damage', place.count, { segment: basename(segment.path), fields: 'unknown' })
    }
    return undefined
  }

  /** Returns the current index of each field in a frame's layout. Undefined if the layout is unknown. */
  async #places(segment: Segment, mark: number): Promise<Int16Array | 'the same' | undefined> {
    if (mark === this.#fingerprint) return 'the same'
    const names = await segment.names()
    if (names === undefined || fingerprint(names) !== mark) return undefined
    return Int16Array.from(names, (name) => this.#deps.dataset.places.get(name) ?? -1)
  }

  #leaveTrail(trail: Trail): void {
    this.#trails.delete(trail.first)
    this.#trails.set(trail.first, trail)
    for (const oldest of this.#trails.keys()) {
      if (this.#trails.size <= MAX_TRAILS) break
      this.#trails.delete(oldest)
    }
  }

  /** Forgets a deleted segment. */
  forget(segment: Segment): void {
    this.#deps.files.forget(segment.path)
    for (const [position, trail] of this.#trails) if (trail.segment === segment) this.#trails.delete(position)
    const prefix = basename(segment.path)
    for (const key of this.#damages.keys()) if (key.startsWith(prefix)) this.#damages.delete(key)
  }

  /**
   * Counts a damage and stores its bytes when it is found for the first time. Returns the offset at which the segment
   * continues.
   */
  async #goAround(segment: Segment, damage: Damage, expected: Position, end: Position): Promise<number> {
    const key = `${basename(segment.path)}-${damage.from}`
    let known = this.#damages.get(key)
    if (known === undefined) {
      known = this.setAside(segment, damage, expected, end)
      this.#damages.set(key, known)
    }
    try {
      await known
    } catch (error) {
      this.#damages.delete(key)
      throw error
    }
    return damage.to
  }

  /**
   * Copies damaged bytes to a separate file next to the segments. Counts the lost records from `expected` up to the
   * next frame of the segment, or up to `end`. Does so once for each damage, also over restarts.
   */
  async setAside(segment: Segment, damage: Damage, expected: Position, end: Position): Promise<void> {
    const { disk, folder, losses, cache } = this.#deps
    const next = damage.to < segment.size ? await cache.block(segment, damage.to) : undefined
    const after = next !== undefined && 'block' in next ? (next.block.frames[0]?.first ?? end) : end
    if (next !== undefined && 'block' in next) next.letGo()
    const aside = join(folder, DAMAGED)
    const name = `${basename(segment.path)}-${damage.from}`
    try {
      await makeFolder(disk, aside)
      const names = await namesIn(disk, aside)
      if (names.includes(name)) return
      if (names.length < MAX_DAMAGES) await writeDurably(disk, join(aside, name), await segment.read(damage))
    } catch {
      // The disk accepts no writes now. The damage is counted anyway and found again at the next start.
    }
    const about = { segment: basename(segment.path), from: damage.from, bytes: damage.to - damage.from }
    losses.add('damage', Math.max(0, after - expected), about)
  }
}

/** Frames of a block from the one on that holds a position, or the next. */
function* firstFrom({ frames }: Block, position: Position): Generator<FramePlace> {
  let low = 0
  let high = frames.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (frames[middle]!.first + frames[middle]!.count <= position) low = middle + 1
    else high = middle
  }
  for (let i = low; i < frames.length; i++) yield frames[i]!
}

class StoredFrame implements Frame {
  readonly first: Position
  readonly count: number
  readonly acceptedAt: number
  readonly #records: FrameRecords
  readonly #names: readonly string[]

  readonly #shared: SharedBlock
  #released = false

  /** The caller's hold on the block is the frame's from now on. */
  constructor(
    shared: SharedBlock,
    place: FramePlace,
    places: Int16Array | 'the same',
    dataset: Dataset,
    room: RecordRoom,
  ) {
    const { at, length, first, count, acceptedAt } = place
    this.first = first
    this.count = count
    this.acceptedAt = acceptedAt
    this.#names = dataset.names
    this.#shared = shared
    this.#records = new FrameRecords(shared.block.bytes, at, at + length, count, places, room)
  }

  record(index: number, places?: Int16Array): ScannedRecord {
    if (this.#released) throw new Error('the frame was released')
    if (!(index >= 0 && index < this.count)) throw new RangeError(`no record ${index} of ${this.count}`)
    return this.#records.read(index, places)
  }

  line(index: number): Uint8Array {
    return jsonLine(this.record(index), this.#names)
  }

  addLine(index: number, output: Output): void {
    addJsonLine(this.record(index), this.#names, output)
  }

  release(): void {
    if (!this.#released) this.#shared.letGo()
    this.#released = true
  }
}
