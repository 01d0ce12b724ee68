import PQueue from 'p-queue'
import { newId } from '../../../../src/core/ids.js'
import { SpoolFull, type FrameParts, type WriterOptions } from '../types.js'
import type { NatsLink } from './link.js'

/** Maximum messages in flight. */
const IN_FLIGHT = 16
/** Maximum bytes that wait for the servers. Further bytes are rejected. */
const MAX_WAITING = 64 * 2 ** 20
/** Attempts to free capacity for one message. */
const ROOM_ATTEMPTS = 8

/** A frame that the stream has. */
export interface StoredFrame {
  readonly sequence: number
  readonly count: number
}

export interface Published {
  readonly stored: readonly StoredFrame[]
  /** Records of frames that are larger than a message can be. */
  readonly unfit: number
}

interface Room {
  /** Deletes messages that no reader needs any more. */
  trim(): Promise<void>
  /** Deletes the oldest messages. False if there are none. */
  dropOldest(reason: 'limit'): Promise<boolean>
}

export interface Commit {
  readonly subject: string
  readonly frames: readonly FrameParts[]
  readonly bytes: number
  readonly whenFull: WriterOptions['whenFull']
  /** Fills the header of a frame. */
  readonly head: (frame: FrameParts) => void
  /** Ids of the frames, the same for each attempt to send them. Created here by default. */
  readonly ids?: readonly string[] | undefined
}

/** Sends frames to the stream. A frame that is sent again has the same id, and is stored once. */
export class Publisher {
  readonly #link: NatsLink
  readonly #room: Room
  readonly #session = newId()
  readonly #queue = new PQueue({ concurrency: IN_FLIGHT })
  /** Ids of frames that a writer tries to commit again. */
  readonly #ids = new WeakMap<FrameParts, string>()
  readonly #sequences = new WeakMap<FrameParts, number>()
  #count = 0
  #waiting = 0
  #trimming: Promise<void> | undefined

  constructor(link: NatsLink, room: Room) {
    this.#link = link
    this.#room = room
  }

  /**
   * Resolves after a quorum has all frames. Rejects with SpoolFull or SpoolUnavailable. Some frames may be stored in
   * that case.
   */
  async publish({ subject, frames, bytes, whenFull, head, ids }: Commit): Promise<Published> {
    if (this.#waiting + bytes > MAX_WAITING) throw new SpoolFull(`more than ${MAX_WAITING} bytes wait for NATS`)
    this.#waiting += bytes
    try {
      const fitting = frames.filter((frame) => frame.bytes.length + MESSAGE_HEAD <= this.#link.maxPayload)
      const unfit = frames.reduce((sum, frame) => sum + (fitting.includes(frame) ? 0 : frame.count), 0)
      const sending = fitting.map(async (frame) => {
        const index = frames.indexOf(frame)
        return await this.#queue.add(async () => await this.#send(subject, frame, whenFull, head, ids?.[index]))
      })
      // Every upload ends before the memory of the frames is reused.
      const results = await Promise.allSettled(sending)
      for (const result of results) if (result.status === 'rejected') throw result.reason
      const stored = fitting.map((frame) => ({ sequence: this.#sequences.get(frame)!, count: frame.count }))
      return { stored, unfit }
    } finally {
      this.#waiting -= bytes
    }
  }

  async #send(
    subject: string,
    frame: FrameParts,
    whenFull: WriterOptions['whenFull'],
    head: Commit['head'],
    id = this.#ids.get(frame) ?? `${this.#session}.${this.#count++}`,
  ): Promise<void> {
    if (this.#sequences.has(frame)) return
    this.#ids.set(frame, id)
    head(frame)
    for (let attempt = 1; ; attempt++) {
      try {
        const sequence = await this.#link.publish(subject, frame.bytes, id)
        this.#sequences.set(frame, sequence)
        const { stream } = this.#link.target
        this.#link.announce(subject.slice(stream.length + 1), `${sequence} ${frame.count}`)
        return
      } catch (error) {
        if (!(error instanceof SpoolFull) || error.name !== 'SpoolFull') throw error
        if (attempt === 1) await this.#trim()
        else if (whenFull !== 'drop_oldest' || attempt > ROOM_ATTEMPTS) throw error
        // Servers that do not respond make no room. The sender gets an error after which it sends again.
        else if (!(await this.#room.dropOldest('limit').catch(() => false))) throw error
      }
    }
  }

  /** One at a time for all that wait. */
  async #trim(): Promise<void> {
    this.#trimming ??= this.#room.trim().finally(() => (this.#trimming = undefined))
    await this.#trimming.catch(() => undefined)
  }
}

/** Bytes of the header of a message, at most. */
const MESSAGE_HEAD = 512
