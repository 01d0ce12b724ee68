import { LRUCache } from 'lru-cache'
import type { StoredMsg } from '@nats-io/jetstream'
import type { Clock } from '../../../../src/core/clock.js'
import { messageOf } from '../../../../src/core/errors.js'
import type { Log } from '../../../../src/core/log.js'
import { SpoolUnavailable } from '../types.js'
import { parseMessage, type Message } from './frame.js'
import type { NatsLink } from './link.js'

/** Bytes of messages that were read last. Readers at nearby positions share them. */
const CACHE_BYTES = 32 * 2 ** 20
const MESSAGE_OVERHEAD = 512
/** Attempts to read, so that the election of a leader is no failure. */
const ATTEMPTS = 4
const PAUSE_MS = 500

/** Reads messages of the stream by their sequence. */
export class StreamReader {
  /** The oldest message that is kept, of any subject. */
  first = 1
  readonly #link: NatsLink
  readonly #clock: Clock
  readonly #log: Log
  readonly #messages = new LRUCache<string, Message>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length + MESSAGE_OVERHEAD,
  })
  readonly #reading = new Map<string, Promise<Message | undefined>>()

  constructor(link: NatsLink, { clock, log }: { clock: Clock; log: Log }) {
    this.#link = link
    this.#clock = clock
    this.#log = log
  }

  /**
   * Returns the first message of a subject from a sequence on. Undefined if there is none. The leader confirms that,
   * because another replica may lack acknowledged messages. Rejects with SpoolUnavailable.
   */
  async next(subject: string, from: number): Promise<Message | undefined> {
    const key = `${subject} ${from}`
    const cached = this.#messages.get(key)
    if (cached !== undefined) return cached
    let reading = this.#reading.get(key)
    if (reading === undefined) {
      const begun = this.#read(key, subject, from).finally(() => {
        if (this.#reading.get(key) === begun) this.#reading.delete(key)
      })
      reading = begun
      this.#reading.set(key, begun)
    }
    return await reading
  }

  /** Returns the oldest message of any subject from a sequence on. */
  async oldest(from: number): Promise<{ subject: string; message: Message } | undefined> {
    const stored = await this.#load(`${this.#link.target.stream}.>`, from)
    const message = stored && parseMessage(stored.seq, stored.data, stored.time)
    return message ? { subject: stored.subject, message } : undefined
  }

  /** Reads that begin from now on share no response of reads in progress, which may be older than a message. */
  look(): void {
    this.#reading.clear()
  }

  /** Forgets all messages, because the stream may be another one. */
  clear(): void {
    this.#messages.clear()
  }

  async #read(key: string, subject: string, from: number): Promise<Message | undefined> {
    for (let sequence = Math.max(1, from); ;) {
      const stored = await this.#load(subject, sequence)
      if (stored === null) return undefined
      const message = parseMessage(stored.seq, stored.data, stored.time)
      if (message !== undefined) {
        this.#messages.set(key, message)
        return message
      }
      this.#log.error({ event: 'spool_message_damaged', subject, sequence: stored.seq })
      sequence = stored.seq + 1
    }
  }

  async #load(subject: string, seq: number): Promise<StoredMsg | null> {
    const { stream } = this.#link.target
    const query = { seq, next_by_subj: subject }
    for (let attempt = 1; ; attempt++) {
      const { jsm } = this.#link.ready
      try {
        const found = await jsm.direct.getMessage(stream, query)
        return found ?? (await jsm.streams.getMessage(stream, query))
      } catch (error) {
        if (attempt >= ATTEMPTS)
          throw new SpoolUnavailable(`the log spool cannot be read: ${messageOf(error)}`, { cause: error })
      }
      await this.#clock.sleep(PAUSE_MS)
    }
  }
}
