import { randomBytes } from 'node:crypto'
import type { JetStreamClient, JetStreamManager, StreamInfo } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { LIBRARY, type NatsLibrary } from './library.js'
import type { Clock } from '../../../../src/core/clock.js'
import { messageOf } from '../../../../src/core/errors.js'
import type { Log } from '../../../../src/core/log.js'
import { DAEMON } from '../../../../src/core/scope.js'
import { kind, type Store } from '../../../../src/core/store.js'
import { SpoolFull, SpoolUnavailable } from '../types.js'
import type { NatsTarget } from './target.js'

/** The stream that the machines of this store share. A stream that took its place has another id. */
const LOGPUSH_STREAM = kind<{ readonly id: string }>('logpush_stream')
/** Version of the form of messages and subjects, which is part of the stream's description. */
const FORMAT = 1
const DESCRIPTION = /^edged log spool, format (\d+), id ([0-9a-f]{16})$/

const RETRY_MS = 1000
const REQUEST_MS = 4000
/** Time without an acknowledgement after which a publisher gives up. It covers the election of a leader. */
const PUBLISH_MS = 12_000
const PUBLISH_PAUSE_MS = 250
/** Repeated messages are recognized for this time. */
const DUPLICATE_WINDOW_NS = 5 * 60 * 1e9
const POLL_MS = 2000
/** Codes of the server for a stream or disk at its limit. */
const FULL_CODES = new Set([10_077, 10_023, 10_028, 10_047])
const IN_USE = 10_058
const NOT_FOUND = 10_059

/** A connection whose stream can be used. */
export interface Ready {
  readonly connection: NatsConnection
  readonly js: JetStreamClient
  readonly jsm: JetStreamManager
  /** Id of the stream. */
  readonly id: string
}

export interface LinkDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly library?: NatsLibrary | undefined
  /** Maximum bytes of the stream. */
  readonly bytes: number
  /** Called with the state of the stream after each connect and every {@link POLL_MS}. */
  readonly polled: (state: StreamInfo['state'], isNew: boolean) => void
  /** Called with the subject and text of each announcement of a message. */
  readonly announced: (subject: string, text: string) => void
}

/** Connects to the servers, makes the stream, and starts again whenever the connection is lost. */
export class NatsLink {
  readonly target: NatsTarget
  readonly #deps: LinkDeps
  readonly #closing = new AbortController()
  #ready: Ready | undefined
  #reason = 'the log spool is connecting to NATS'
  #running: Promise<void> | undefined
  #maxPayload = 1024 * 1024
  #id: string | undefined
  #attempted = () => {}

  constructor(target: NatsTarget, deps: LinkDeps) {
    this.target = target
    this.#deps = deps
  }

  /** Resolves after the first attempt to connect, successful or not. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#attempted = resolve
      this.#running = this.#run()
    })
  }

  /** The connection. Throws SpoolUnavailable. */
  get ready(): Ready {
    if (this.#ready === undefined) throw new SpoolUnavailable(this.#reason)
    return this.#ready
  }

  get unavailable(): string | undefined {
    return this.#ready === undefined ? this.#reason : undefined
  }

  /** Id of the stream. Throws SpoolUnavailable before it is known. */
  get id(): string {
    const id = this.#id ?? this.#deps.store.get(LOGPUSH_STREAM, DAEMON, this.target.stream)?.value.id
    if (id === undefined) throw new SpoolUnavailable(this.#reason)
    return id
  }

  /** Maximum bytes of a message. */
  get maxPayload(): number {
    return this.#maxPayload
  }

  /**
   * Publishes until a quorum has the message, and resolves with its sequence. Repeats carry the same id. Rejects with
   * SpoolFull or SpoolUnavailable.
   */
  async publish(subject: string, bytes: Uint8Array, msgID: string): Promise<number> {
    const { clock } = this.#deps
    const { JetStreamApiError } = await this.#library.jetstream()
    let { js } = this.ready
    const until = clock.monotonic() + PUBLISH_MS
    for (;;) {
      try {
        return (await js.publish(subject, bytes, { msgID, timeout: REQUEST_MS })).seq
      } catch (error) {
        if (error instanceof JetStreamApiError && FULL_CODES.has(error.code)) {
          const text = `the log spool has reached its limit of ${this.#deps.bytes} bytes: ${error.message}`
          throw new SpoolFull(text, { cause: error })
        }
        if (clock.monotonic() >= until || this.#closing.signal.aborted)
          throw new SpoolUnavailable(this.unavailable ?? this.#unreachable(error), { cause: error })
      }
      await clock.sleep(PUBLISH_PAUSE_MS)
      js = this.#ready?.js ?? js
    }
  }

  /** Announces a message to the other machines. */
  announce(subject: string, text: string): void {
    const { connection } = this.#ready ?? {}
    if (connection && !connection.isClosed()) connection.publish(`${this.target.stream}-new.${subject}`, text)
  }

  /** The state of the stream as its leader has it. */
  async state(): Promise<StreamInfo['state']> {
    try {
      return (await this.ready.jsm.streams.info(this.target.stream)).state
    } catch (error) {
      throw error instanceof SpoolUnavailable ? error : new SpoolUnavailable(this.#unreachable(error), { cause: error })
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#ready?.connection.close().catch(() => {})
    await this.#running
  }

  async #run(): Promise<void> {
    const { clock } = this.#deps
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.#session()
      } catch (error) {
        if (!signal.aborted) this.#down(this.#unreachable(error))
      }
      await clock.sleep(RETRY_MS, signal).catch(() => {})
    }
  }

  /** One connection, until it is closed. */
  async #session(): Promise<void> {
    const { jetstream, jetstreamManager } = await this.#library.jetstream()
    const { stream } = this.target
    const connection = await this.#library.connect(this.target)
    try {
      const jsm = await jetstreamManager(connection, { timeout: REQUEST_MS })
      const { id, state } = await this.#stream(jsm)
      this.#maxPayload = connection.info?.max_payload ?? this.#maxPayload
      this.#id = id
      void this.#listen(connection, `${stream}-new.`)
      await connection.flush()
      this.#up({ connection, js: jetstream(connection, { timeout: REQUEST_MS }), jsm, id })
      this.#deps.polled(state, true)
      await Promise.race([connection.closed(), this.#poll(connection)])
      if (!this.#closing.signal.aborted) this.#down(this.#unreachable('the connection was closed'))
    } finally {
      this.#ready = undefined
      await Promise.race([connection.close(), this.#deps.clock.sleep(REQUEST_MS)]).catch(() => {})
    }
  }

  async #listen(connection: NatsConnection, prefix: string): Promise<void> {
    for await (const { subject, data } of connection.subscribe(`${prefix}>`))
      this.#deps.announced(subject.slice(prefix.length), Buffer.from(data).toString())
  }

  /** Checks the stream now and then, because announcements may be lost. */
  async #poll(connection: NatsConnection): Promise<void> {
    const { clock, polled } = this.#deps
    while (!connection.isClosed()) {
      await clock.sleep(POLL_MS, this.#closing.signal).catch(() => {})
      if (connection.isClosed() || this.#closing.signal.aborted) return
      const state = await this.state().catch(() => undefined)
      if (state) polled(state, false)
    }
  }

  /**
   * Returns the stream, and creates it if necessary. Throws if it belongs to another installation or a newer version.
   */
  async #stream(jsm: JetStreamManager): Promise<{ id: string; state: StreamInfo['state'] }> {
    const { stream, replicas } = this.target
    const { bytes, store, log } = this.#deps
    const info = await this.#found(jsm)
    const [, format, id] = DESCRIPTION.exec(info.config.description ?? '') ?? []
    if (id === undefined) throw new Error(`the stream ${stream} was not made by edged; name another one with ?stream=`)
    if (Number(format) > FORMAT)
      throw new Error(`the stream ${stream} has format ${format} of a newer version of edged; this one reads ${FORMAT}`)
    if (info.config.max_bytes !== bytes || info.config.num_replicas !== replicas)
      await jsm.streams.update(stream, { max_bytes: bytes, num_replicas: replicas })
    await store.caughtUp()
    const known = store.get(LOGPUSH_STREAM, DAEMON, stream)
    if (known?.value.id === id) return { id, state: info.state }
    if (info.state.last_seq > 0)
      throw new Error(
        `the stream ${stream} has records of another installation; name another one with ?stream=, or delete it`,
      )
    if (known) log.error({ event: 'spool_replaced', stream }, 'the stream was deleted with all records in it')
    // Another machine may write the same at the same time.
    await store.batch([{ kind: LOGPUSH_STREAM, scope: DAEMON, id: stream, value: { id } }])
    return { id, state: info.state }
  }

  async #found(jsm: JetStreamManager): Promise<StreamInfo> {
    const { DiscardPolicy, JetStreamApiError, StorageType } = await this.#library.jetstream()
    const { stream, replicas } = this.target
    try {
      return await jsm.streams.info(stream)
    } catch (error) {
      if (!(error instanceof JetStreamApiError && error.code === NOT_FOUND)) throw error
    }
    try {
      return await jsm.streams.add({
        name: stream,
        description: `edged log spool, format ${FORMAT}, id ${randomBytes(8).toString('hex')}`,
        subjects: [`${stream}.>`],
        storage: StorageType.File,
        num_replicas: replicas,
        max_bytes: this.#deps.bytes,
        discard: DiscardPolicy.New,
        duplicate_window: DUPLICATE_WINDOW_NS,
        allow_direct: true,
      })
    } catch (error) {
      // Another machine created it in the meantime.
      if (error instanceof JetStreamApiError && error.code === IN_USE) return await jsm.streams.info(stream)
      throw error
    }
  }

  get #library(): NatsLibrary {
    return this.#deps.library ?? LIBRARY
  }

  #up(ready: Ready): void {
    this.#ready = ready
    this.#reason = ''
    this.#attempted()
    this.#deps.log.info({ event: 'spool_available', stream: this.target.stream }, this.target.where)
  }

  #down(reason: string): void {
    this.#ready = undefined
    this.#attempted()
    if (reason === this.#reason) return
    this.#reason = reason
    this.#deps.log.warn({ event: 'spool_unavailable', error: reason })
  }

  #unreachable(error: unknown): string {
    const reason = typeof error === 'string' ? error : messageOf(error)
    return `the log spool on ${this.target.where} cannot be used: ${reason}`
  }
}
