import { JetStreamApiError } from '@nats-io/jetstream'
import { parseMessage } from '../../../pipelines/logpush/spool/nats/frame.js'
import type { Faults } from '../faults.js'
import { Life, type Scheduler } from '../scheduler.js'

const START = Date.parse('2026-11-21T12:00:00Z')
const DUPLICATE_WINDOW_MS = 5 * 60_000
const MAX_DOWN_MS = 20_000
const OVERHEAD = 64
/** The newest messages, which a replica may lack. */
const MAX_BEHIND = 2

interface StoredMessage {
  readonly seq: number
  readonly subject: string
  readonly data: Uint8Array
  readonly time: Date
}

interface Query {
  readonly seq: number
  readonly next_by_subj: string
}

/** What makes the simulated stream worse than JetStream, to prove that a run notices. */
export interface NatsFlaws {
  /** Stores a message again that has the id of one before. */
  readonly forgetful?: boolean
  /** Deletes more than it is asked to. */
  readonly purgesMore?: boolean
  /** Confirms some messages that it does not store. */
  readonly lossy?: boolean
}

const apiError = (code: number, description: string): Error =>
  new JetStreamApiError({ code: 400, err_code: code, description })

/** One stream of JetStream on servers with a quorum: what it has confirmed it keeps. */
export class SimulatedStream {
  readonly life = new Life('nats')
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  readonly #flaws: NatsFlaws
  #config: Record<string, unknown> | undefined
  #messages: StoredMessage[] = []
  readonly #ids = new Map<string, { readonly seq: number; readonly at: number }>()
  #last = 0
  /** Records that the last purge has deleted. */
  purgedRecords = 0
  /** Nobody can connect until then. */
  downUntil = 0

  constructor(scheduler: Scheduler, faults: Faults, flaws: NatsFlaws) {
    this.#scheduler = scheduler
    this.#faults = faults
    this.#flaws = flaws
  }

  /** The servers end, with all connections. */
  restart(): void {
    this.downUntil = this.#scheduler.time + this.#faults.random.below(MAX_DOWN_MS)
  }

  add(config: Record<string, unknown>): object {
    if (this.#config !== undefined) throw apiError(10_058, 'stream name already in use')
    this.#config = config
    return this.info()
  }

  info(): object {
    if (this.#config === undefined) throw apiError(10_059, 'stream not found')
    const subjects: Record<string, number> = {}
    for (const { subject } of this.#messages) subjects[subject] = (subjects[subject] ?? 0) + 1
    const first = this.#messages[0]?.seq ?? this.#last + 1
    return { config: this.#config, state: { bytes: this.#bytes, first_seq: first, last_seq: this.#last, subjects } }
  }

  publish(subject: string, data: Uint8Array, id: string): object {
    const { time } = this.#scheduler
    const known = this.#ids.get(id)
    if (known !== undefined && time - known.at < DUPLICATE_WINDOW_MS && this.#flaws.forgetful !== true)
      return { seq: known.seq, duplicate: true }
    if (this.#bytes + data.length + OVERHEAD > (this.#config!['max_bytes'] as number))
      throw apiError(10_077, 'maximum bytes exceeded')
    const seq = ++this.#last
    this.#ids.set(id, { seq, at: time })
    if (this.#flaws.lossy !== true || seq % 5 > 0)
      this.#messages.push({ seq, subject, data: new Uint8Array(data), time: new Date(START + time) })
    return { seq, duplicate: false }
  }

  /** A replica answers, which may lack the newest messages. */
  direct(query: Query): StoredMessage | null {
    const behind = this.#faults.has('stale') ? 1 + this.#faults.random.below(MAX_BEHIND) : 0
    return this.#next(query, this.#last - behind)
  }

  /** The leader answers. */
  message(query: Query): StoredMessage | null {
    return this.#next(query, this.#last)
  }

  purge({ filter, seq }: { filter?: string; seq: number }): object {
    const before = this.#messages.length
    const until = this.#flaws.purgesMore === true ? seq + 1 : seq
    const isKept = (one: StoredMessage) => one.seq >= until || (filter !== undefined && one.subject !== filter)
    this.purgedRecords = 0
    for (const one of this.#messages)
      if (!isKept(one)) this.purgedRecords += parseMessage(one.seq, one.data, one.time)!.count
    this.#messages = this.#messages.filter(isKept)
    return { purged: before - this.#messages.length }
  }

  get #bytes(): number {
    return this.#messages.reduce((sum, { data }) => sum + data.length + OVERHEAD, 0)
  }

  #next({ seq, next_by_subj: subject }: Query, top: number): StoredMessage | null {
    const isAny = subject.endsWith('>')
    return this.#messages.find((one) => one.seq >= seq && one.seq <= top && (isAny || one.subject === subject)) ?? null
  }
}
