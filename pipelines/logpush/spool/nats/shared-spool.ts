import type { Clock } from '../../../../src/core/clock.js'
import type { Scope } from '../../../../src/core/scope.js'
import { StoreUnavailable, VersionConflict, type Store } from '../../../../src/core/store.js'
import { scannerOf, type Dataset, type RecordScanner } from '../../../records/index.js'
import type { Buffers } from '../buffers.js'
import { LIVE } from '../../live.js'
import { furthestOf } from '../position.js'
import { RECORDS, writeHeader } from '../frame.js'
import { fingerprint, FramePacker, recordRoom, type RecordRoom } from '../layout.js'
import type { LossCounter } from '../loss-counter.js'
import {
  SpoolUnavailable,
  type Cursor,
  type Frame,
  type FrameParts,
  type FrameWriter,
  type Position,
  type Spool,
  type WriterOptions,
} from '../types.js'
import { Waiters } from '../waiters.js'
import { PackedWriter } from '../writer.js'
import { cursorId, LocalCursor, LOGPUSH_CURSORS, SharedCursor, stateOf, type CursorDeps } from './cursors.js'
import { MessageFrame, positionOfMessage, sequenceAt, type Message } from './frame.js'
import type { Layouts } from './layouts.js'
import type { StreamReader } from './stream-reader.js'
import type { NatsLink } from './link.js'
import type { Publisher } from './publisher.js'
import { ArrivedCounts } from './arrived.js'

/** Room in a message for records that were added before the one that closes the frame. */
const FRAME_BYTES = 256 * 1024 + 16 * 1024
/** Maximum number of positions with a known next message. Readers continue after returned frames. */
const MAX_TRAILS = 64

export interface SharedSpoolDeps extends CursorDeps {
  readonly store: Store
  readonly clock: Clock
  readonly link: NatsLink
  readonly publisher: Publisher
  readonly reader: StreamReader
  readonly layouts: Layouts
  readonly buffers: Buffers
  readonly losses: LossCounter
}

/** A sender repeats records that the spool does not take now. It knows nothing of the store. */
function spoolUnavailable(error: unknown): never {
  if (!(error instanceof StoreUnavailable)) throw error
  throw new SpoolUnavailable(`the log spool cannot be used: ${error.message}`, { cause: error })
}

/** The records of one dataset and scope in the stream of all machines. */
export class SharedSpool implements Spool {
  readonly sparse = true
  readonly dataset: string
  readonly scope: Scope
  readonly subject: string
  readonly #of: Dataset
  readonly #deps: SharedSpoolDeps
  readonly #scanner: RecordScanner
  readonly #room: RecordRoom
  readonly #fingerprint: number
  readonly #waiters = new Waiters()
  readonly #arrived = new ArrivedCounts()
  readonly #cursors = new Map<string, SharedCursor>()
  readonly #local = new Map<string, LocalCursor>()
  readonly #trails = new Map<Position, number>()
  #end: Position = 0
  /** There is no message from this position on that was not announced. */
  #emptyFrom: Position = Infinity
  /** Number of times that messages may have arrived without an announcement. */
  #looks = 0

  constructor(dataset: Dataset, scope: Scope, subject: string, deps: SharedSpoolDeps) {
    this.dataset = dataset.name
    this.scope = scope
    this.subject = subject
    this.#of = dataset
    this.#deps = deps
    this.#scanner = scannerOf(dataset)
    this.#room = recordRoom(dataset.names.length)
    this.#fingerprint = fingerprint(dataset.names)
    for (const { value } of this.#records) {
      const state = stateOf(value, deps) ?? { next: 0 }
      this.#end = Math.max(this.#end, state.next, furthestOf(state))
    }
  }

  get end(): Position {
    return this.#end
  }

  get start(): Position {
    return Math.min(this.#end, positionOfMessage(this.#deps.reader.first))
  }

  get cursors(): string[] {
    return [...this.#records.map(({ id }) => id.slice(this.dataset.length + 1)), ...this.#local.keys()]
  }

  writer({ whenFull = 'reject', check }: WriterOptions = {}): FrameWriter {
    const append = async (frames: readonly FrameParts[], bytes: number) => await this.#append(frames, bytes, whenFull)
    return new PackedWriter(this.#scanner, this.#of.names, this.#deps.buffers, append, check, () => this.#maxRecord)
  }

  async cursor(name: string): Promise<Cursor> {
    // Its reader ends with this process.
    if (name.startsWith(LIVE)) return await this.#localCursor(name)
    const known = this.#cursors.get(name)
    const { store } = this.#deps
    const id = cursorId(this.dataset, name)
    const stored = store.get(LOGPUSH_CURSORS, this.scope, id)
    if (known !== undefined && stored !== undefined) return known
    if (stored === undefined) {
      const value = { spool: this.#deps.stream(), state: { next: await this.#newest() } }
      try {
        await store.batch([{ kind: LOGPUSH_CURSORS, scope: this.scope, id, value, ifVersion: 0 }])
      } catch (error) {
        // Another machine created it.
        if (!(error instanceof VersionConflict)) throw error
      }
    }
    const cursor = known ?? new SharedCursor(this.#deps, store.get(LOGPUSH_CURSORS, this.scope, id)!)
    this.#cursors.set(name, cursor)
    return cursor
  }

  async frame(position: Position): Promise<Frame | undefined> {
    if (this.#isEmpty(position)) return undefined
    const { reader } = this.#deps
    const sequence = sequenceAt(position)
    const looks = this.#looks
    for (let from = this.#trails.get(position) ?? sequence; ;) {
      const message = await reader.next(this.subject, from)
      if (message === undefined) {
        if (looks === this.#looks) this.#emptyFrom = Math.min(this.#emptyFrom, position)
        return undefined
      }
      const end = positionOfMessage(message.sequence) + message.count
      this.arrived(message.sequence, message.count)
      const places = end <= position ? undefined : this.#places(message)
      if (places === undefined) {
        from = message.sequence + 1
        continue
      }
      this.#leaveTrail(end, message.sequence + 1)
      return new MessageFrame(message, this.#of, places, this.#room)
    }
  }

  behind(position: Position): number {
    return this.#arrived.since(position)
  }

  async before(position: Position): Promise<Frame | undefined> {
    const { reader } = this.#deps
    const top = sequenceAt(position - 1)
    for (let low = top, step = 1; ; low = Math.max(reader.first, low - step), step *= 2) {
      let message = await reader.next(this.subject, low)
      if (message !== undefined && message.sequence <= top) {
        for (let after: Message | undefined = message; after && after.sequence <= top;) {
          message = after
          after = await reader.next(this.subject, message.sequence + 1)
        }
        const places = this.#places(message)
        if (places !== undefined) return new MessageFrame(message, this.#of, places, this.#room)
        return await this.before(positionOfMessage(message.sequence))
      }
      if (low <= reader.first) return undefined
    }
  }

  async waitFor(position: Position, signal: AbortSignal): Promise<void> {
    if (this.#isEmpty(position)) await this.#waiters.wait(position, signal)
  }

  /** Stores the records of a frame of another spool, once for each id, however often it is called. */
  async forward(frame: Frame, id: string): Promise<void> {
    const packer = new FramePacker(this.#of.names, this.#deps.buffers)
    for (let index = 0; index < frame.count; index++) packer.add(frame.record(index))
    const frames = packer.frames()
    const ids = frames.map((_, index) => `${id}.${index}`)
    await this.#append(frames, packer.size, 'drop_oldest', ids)
    packer.clear()
  }

  /** Notes a message that the stream has. */
  arrived(sequence: number, count: number): void {
    this.#arrived.add(sequence, count)
    const end = positionOfMessage(sequence) + count
    if (end <= this.#end) return
    this.#end = end
    this.#waiters.arrived(end)
  }

  /** Notes that messages may have arrived without an announcement. */
  look(): void {
    this.#looks++
    this.#emptyFrom = Infinity
    this.#waiters.arrived(Infinity)
  }

  /** Oldest position that a cursor of any machine needs. Undefined without cursors. */
  get least(): Position | undefined {
    let least: Position | undefined
    const states = [
      ...this.#records.map(({ value }) => stateOf(value, this.#deps)!),
      ...[...this.#local.values()].map(({ state }) => state),
    ]
    for (const { next, keep = next } of states) {
      const needs = Math.min(next, keep)
      least = Math.min(least ?? needs, needs)
    }
    return least
  }

  #isEmpty(position: Position): boolean {
    return position >= this.#end && position >= this.#emptyFrom
  }

  get #records() {
    const prefix = cursorId(this.dataset, '')
    return this.#deps.store.list(LOGPUSH_CURSORS, this.scope).filter(({ id }) => id.startsWith(prefix))
  }

  get #maxRecord(): number {
    return Math.max(64 * 1024, this.#deps.link.maxPayload - FRAME_BYTES)
  }

  /** Returns the position after the last message of the stream. */
  async #newest(): Promise<Position> {
    const { last_seq: last } = await this.#deps.link.state()
    return positionOfMessage(last + 1)
  }

  async #localCursor(name: string): Promise<Cursor> {
    const known = this.#local.get(name)
    if (known) return known
    const cursor = new LocalCursor({ next: await this.#newest() }, () => void this.#local.delete(name))
    this.#local.set(name, cursor)
    return cursor
  }

  async #append(
    frames: readonly FrameParts[],
    bytes: number,
    whenFull: WriterOptions['whenFull'],
    ids?: readonly string[],
  ): Promise<void> {
    const { link, publisher, layouts, losses, clock } = this.#deps
    if (frames.length === 0) return
    void link.ready
    if (this.cursors.length === 0) return
    await layouts.store(this.#of, this.#fingerprint).catch(spoolUnavailable)
    const acceptedAt = clock.now()
    const head = (frame: FrameParts) =>
      writeHeader(frame.bytes, {
        kind: RECORDS,
        fingerprint: this.#fingerprint,
        count: frame.count,
        // The sequence of the message determines it.
        first: 0,
        acceptedAt,
      })
    const sent = await publisher.publish({ subject: this.subject, frames, bytes, whenFull, head, ids })
    for (const { sequence, count } of sent.stored) this.arrived(sequence, count)
    if (sent.unfit > 0) losses.add('unfit', sent.unfit, { error: `more than ${link.maxPayload} bytes` })
  }

  /** Returns the current indexes of the fields of a message. Undefined if its layout is unknown. */
  #places({ fingerprint: mark, count, sequence }: Message): Int16Array | 'the same' | undefined {
    if (mark === this.#fingerprint) return 'the same'
    const names = this.#deps.layouts.names(this.dataset, mark)
    if (names === undefined) {
      this.#deps.losses.add('damage', count, { message: sequence, fields: 'unknown' })
      return undefined
    }
    return Int16Array.from(names, (name) => this.#of.places.get(name) ?? -1)
  }

  #leaveTrail(position: Position, sequence: number): void {
    this.#trails.delete(position)
    this.#trails.set(position, sequence)
    for (const oldest of this.#trails.keys()) {
      if (this.#trails.size <= MAX_TRAILS) break
      this.#trails.delete(oldest)
    }
  }
}
