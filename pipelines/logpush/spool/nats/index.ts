import type { Clock } from '../../../../src/core/clock.js'
import type { Log } from '../../../../src/core/log.js'
import type { Metrics } from '../../../../src/core/metrics/metrics.js'
import type { Scope } from '../../../../src/core/scope.js'
import type { Store } from '../../../../src/core/store.js'
import { storedDataset } from '../../../records/index.js'
import { Buffers } from '../buffers.js'
import { FRAME_ROOM } from '../layout.js'
import { LossCounter } from '../loss-counter.js'
import { spoolMetrics, type SpoolMetrics } from '../metrics.js'
import type { Spool, Spools } from '../types.js'
import { datasetOfCursor, LOGPUSH_CURSORS } from './cursors.js'
import { Layouts } from './layouts.js'
import type { NatsLibrary } from './library.js'
import { NatsLink } from './link.js'
import { Publisher } from './publisher.js'
import { ReaderLeases } from './reader-leases.js'
import { StreamRetention } from './retention.js'
import { SharedSpool } from './shared-spool.js'
import { StreamReader } from './stream-reader.js'
import type { NatsTarget } from './target.js'

const SPARE_BUFFERS = 16

export interface SharedSpoolsOptions {
  readonly store: Store
  /** Name of this machine, the same after a restart. */
  readonly self: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics?: Metrics | undefined
  readonly limits: { readonly bytes: number; readonly ageMs?: number }
  /** The default is the client library of NATS. */
  readonly library?: NatsLibrary
}

/**
 * The spools that all machines of a store share, in one stream of NATS JetStream. Without a connection, records are
 * rejected and jobs wait.
 *
 *     stream edged, subjects edged.DATASET.SCOPE messages are frames, and their sequences positions
 *     records of the store cursors, leases, layouts, the id of the stream
 */
export class SharedSpools implements Spools {
  readonly #options: SharedSpoolsOptions
  readonly #link: NatsLink
  readonly #leases: ReaderLeases
  readonly #reader: StreamReader
  readonly #retention: StreamRetention
  readonly #publisher: Publisher
  readonly #layouts: Layouts
  readonly #metrics: SpoolMetrics | undefined
  readonly #buffers = new Buffers(FRAME_ROOM, SPARE_BUFFERS)
  readonly #spools = new Map<string, SharedSpool>()
  #bytes = 0
  /** Up to this sequence all messages were announced, or looked for. */
  #last = 0
  /** Sequences after the next one that were announced. */
  readonly #ahead = new Set<number>()

  constructor(target: NatsTarget, options: SharedSpoolsOptions) {
    const { store, clock, log, metrics, limits, self } = options
    this.#options = options
    this.#link = new NatsLink(target, {
      store,
      clock,
      log,
      library: options.library,
      bytes: limits.bytes,
      polled: (state, isNew) => this.#polled(state, isNew),
      announced: (subject, text) => this.#announced(subject, text),
    })
    this.#metrics = metrics && spoolMetrics(metrics)
    this.#metrics?.stored(() => this.#bytes)
    this.#leases = new ReaderLeases(store, clock, log, self)
    this.#reader = new StreamReader(this.#link, { clock, log })
    this.#layouts = new Layouts(store)
    this.#retention = new StreamRetention({
      link: this.#link,
      reader: this.#reader,
      leases: this.#leases,
      store,
      clock,
      log,
      ageMs: limits.ageMs,
      least: (subject) => this.#of(subject)?.least,
      losses: (subject) => this.#losses(subject),
    })
    this.#publisher = new Publisher(this.#link, this.#retention)
  }

  /** Resolves after the first attempt to connect, successful or not. */
  async start(): Promise<void> {
    this.#leases.start()
    this.#retention.start()
    await this.#link.start()
  }

  get id(): string {
    return this.#link.id
  }

  get unavailable(): string | undefined {
    return this.#link.unavailable
  }

  // oxlint-disable-next-line typescript/require-await
  async open(dataset: string, scope: Scope): Promise<SharedSpool> {
    return this.#open(dataset, scope)
  }

  /** Those that have a cursor of any machine. */
  all(): Iterable<Spool> {
    for (const { scope, id } of this.#options.store.list(LOGPUSH_CURSORS)) {
      const dataset = datasetOfCursor(id)
      if (storedDataset(dataset) !== undefined) this.#open(dataset, scope)
    }
    return this.#spools.values()
  }

  async close(): Promise<void> {
    await this.#retention.close()
    await this.#leases.close()
    await this.#link.close()
  }

  #open(name: string, scope: Scope): SharedSpool {
    const dataset = storedDataset(name)
    if (dataset === undefined) throw new Error(`unknown dataset ${name}`)
    const key = `${name}.${scopeToken(scope)}`
    const known = this.#spools.get(key)
    if (known !== undefined) return known
    const { store, clock } = this.#options
    const subject = `${this.#link.target.stream}.${key}`
    const spool = new SharedSpool(dataset, scope, subject, {
      store,
      clock,
      leases: this.#leases,
      stream: () => this.#link.id,
      link: this.#link,
      publisher: this.#publisher,
      reader: this.#reader,
      layouts: this.#layouts,
      buffers: this.#buffers,
      losses: this.#losses(subject),
    })
    this.#spools.set(key, spool)
    return spool
  }

  /** The spool of a subject, also one that this machine has not used yet. */
  #of(subject: string): SharedSpool | undefined {
    const key = subject.slice(this.#link.target.stream.length + 1)
    const known = this.#spools.get(key)
    if (known !== undefined) return known
    const [dataset = '', token = ''] = key.split('.')
    const scope = scopeOfToken(token)
    return scope === undefined || storedDataset(dataset) === undefined ? undefined : this.#open(dataset, scope)
  }

  #losses(subject: string): LossCounter {
    const { clock, log } = this.#options
    const [, dataset = '', token = ''] = subject.split('.')
    const scope = scopeOfToken(token)
    const labels = { dataset, scope: scope === undefined ? token : `${scope.type}/${scope.id}` }
    return new LossCounter(labels, { clock, log, ...(this.#metrics && { counter: this.#metrics.lost }) })
  }

  #polled({ bytes, first_seq: first, last_seq: last }: StreamState, isNew: boolean): void {
    this.#bytes = bytes
    this.#reader.first = Math.max(1, first)
    if (isNew) this.#reader.clear()
    if (isNew || last > this.#last) {
      this.#reader.look()
      for (const spool of this.#spools.values()) spool.look()
    }
    this.#last = last
    for (const sequence of this.#ahead) if (sequence <= last) this.#ahead.delete(sequence)
    this.#advance()
  }

  #announced(key: string, text: string): void {
    const [sequence = NaN, count = NaN] = text.split(' ').map(Number)
    if (!Number.isSafeInteger(sequence) || !Number.isSafeInteger(count)) return
    if (sequence > this.#last) this.#ahead.add(sequence)
    this.#advance()
    this.#spools.get(key)?.arrived(sequence, count)
  }

  /** Stops before a message that was not announced, so that the next poll finds it. */
  #advance(): void {
    while (this.#ahead.delete(this.#last + 1)) this.#last++
  }
}

interface StreamState {
  readonly bytes: number
  readonly first_seq: number
  readonly last_seq: number
}

/** Returns a scope as one token of a subject. */
const scopeToken = ({ type, id }: Scope): string =>
  `${type}-${encodeURIComponent(id).replace(/[.*!~'()]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)}`

function scopeOfToken(token: string): Scope | undefined {
  const match = /^(account|zone|daemon)-(.+)$/.exec(token)
  if (match === null) return undefined
  try {
    return { type: match[1] as Scope['type'], id: decodeURIComponent(match[2]!) }
  } catch {
    return undefined
  }
}
