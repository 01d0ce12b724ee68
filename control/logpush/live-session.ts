import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Clock } from '../../src/core/clock.js'
import { messageOf } from '../../src/core/errors.js'
import type { Log } from '../../src/core/log.js'
import type { FollowedMachines, OtherMachines, StreamRequest } from '../../src/core/machine-streams.js'
import type { Scope } from '../../src/core/scope.js'
import { compileJob, type CompiledJob } from '../../pipelines/logpush/settings/compiled-job.js'
import { LiveClients } from '../http/websocket-clients.js'
import { pointed } from './json-pointers.js'
import type { TailInput } from './tail-input.js'

/** The input of a session of a zone. Texts are as the client sent them. */
export interface LiveJob {
  /** Names with commas between them. */
  readonly fields?: string
  /** JSON text, as in the filter of a job. */
  readonly filter?: string
  /** Shows one record out of this number. */
  readonly sample?: number
}

/** Records of all sessions since the start. */
export interface LiveCounts {
  sent: number
  /** For clients that read too slowly. */
  dropped: number
}

/** Records of a scope as they come, a line each, written as the job says; ends when the signal aborts. */
export type LiveLines = (scope: Scope, job: CompiledJob, signal: AbortSignal) => AsyncIterable<Uint8Array>

const UNEXPECTED = 1011
const LINE_FEED = 0x0a

interface Reading {
  readonly stop: AbortController
  readonly ended: Promise<void>
}

/** What other machines need to know of a session: the input of its endpoint. */
export interface LiveElsewhere {
  readonly edge?: LiveJob
  readonly tail?: TailInput
  readonly requests?: { readonly filter?: string }
}

/** The records that a session reads. */
export interface LiveSource {
  readonly elsewhere: LiveElsewhere
  /** The stream of other machines. Default: `log_records`. */
  readonly stream?: StreamRequest['type']
  /** Compiles the input of the session. Throws InvalidInput if the input does not fit. */
  compile(seed: string): CompiledJob
  /** Reads the records. Undefined if the session reads the records of the scope that the daemon accepts. */
  readonly lines?: ((job: CompiledJob, signal: AbortSignal) => AsyncIterable<Uint8Array>) | undefined
}

/** Returns the source of a session of a zone. */
export const zoneSource = ({ fields, filter, sample = 1 }: LiveJob): LiveSource => ({
  elsewhere: { edge: { ...(fields !== undefined && { fields }), ...(filter !== undefined && { filter }), sample } },
  compile: (seed) => {
    const settings = {
      dataset: 'http_requests',
      ...(filter !== undefined && { filter }),
      output_options: {
        timestamp_format: 'rfc3339',
        sample_rate: 1 / sample,
        ...(fields && { field_names: fields.split(',').map((name) => name.trim()) }),
      },
    }
    return pointed(ofSession, () => compileJob(settings, seed))
  },
})

interface Made {
  readonly id: string
  /** Id of the API request that made it. */
  readonly requestId: string
  readonly scope: Scope
  readonly clock: Clock
  readonly counts: LiveCounts
  readonly lines: LiveLines
  readonly log: Log
  /** Tells clients of records that they missed, and of machines that do not respond. */
  readonly tellsMissed: boolean
  /** Undefined if no other machine uses the store. */
  readonly machines: OtherMachines | undefined
}

const ofSession = (pointer: string): string => (pointer.startsWith('/output_options/field_names') ? '/fields' : pointer)

/** One session, with its source and its clients. Reads records while a client is connected. */
export class LiveSession {
  readonly id: string
  readonly scope: Scope
  /** On the monotonic clock. */
  readonly madeAt: number
  readonly #made: Made
  readonly #compiled: CompiledJob
  readonly #source: LiveSource
  readonly clients: LiveClients
  #reading: Reading | undefined

  /** Throws InvalidInput for a job that does not fit. */
  constructor(source: LiveSource, made: Made) {
    this.id = made.id
    this.scope = made.scope
    this.madeAt = made.clock.monotonic()
    this.#made = made
    this.clients = new LiveClients(made.clock, made.tellsMissed ? missedNotice : undefined)
    this.#source = source
    this.#compiled = source.compile(made.id)
  }

  /** Adds a client with its connection. */
  join(client: WebSocket, transport: Duplex): void {
    const left = () => {
      if (this.clients.size === 0) this.#reading?.stop.abort()
    }
    if (this.clients.join(client, transport, left)) this.#reading ??= this.#start()
  }

  /** Reads no more. */
  async close(): Promise<void> {
    this.#reading?.stop.abort()
    await this.#reading?.ended
  }

  #start(): Reading {
    const stop = new AbortController()
    return { stop, ended: this.#read(stop.signal) }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { scope, requestId, log } = this.#made
    const lines = this.#source.lines ?? ((job, stop) => this.#made.lines(scope, job, stop))
    const elsewhere = this.#follow()
    try {
      for await (const text of lines(this.#compiled, signal)) this.#send(text)
    } catch (error) {
      if (!signal.aborted) {
        log.error({ event: 'live_session_failed', id: requestId, scope: scope.id, error: messageOf(error) })
        this.clients.close(UNEXPECTED, 'the records cannot be read')
        this.clients.clear()
      }
    } finally {
      elsewhere?.close()
    }
    // Somebody may have come while it was ending.
    this.#reading = this.clients.size > 0 ? this.#start() : undefined
  }

  /** Reads the records of the other machines. */
  #follow(): FollowedMachines | undefined {
    const { scope, machines, counts, tellsMissed } = this.#made
    return machines?.follow(
      { type: this.#source.stream ?? 'log_records', scope, input: this.#source.elsewhere },
      {
        text: (text) => this.#send(text),
        missed: (records) => {
          counts.dropped += records * this.clients.size
          this.clients.miss(records)
        },
        machine: (machine, state) => {
          if (tellsMissed) this.clients.notify({ text: JSON.stringify({ machine, state }), binary: true })
        },
      },
    )
  }

  /** One message, a record a line. */
  #send(text: Uint8Array): void {
    const { counts } = this.#made
    const records = recordsIn(text)
    const { sent, missed } = this.clients.send(text, records)
    counts.sent += sent * records
    counts.dropped += missed * records
  }
}

/** A binary message, so that it cannot be taken for a record. */
const missedNotice = (missed: number) => ({ text: JSON.stringify({ missed }), binary: true })

/** Returns the number of lines. */
export function recordsIn(text: Uint8Array): number {
  let records = 0
  for (let at = text.indexOf(LINE_FEED); at >= 0; at = text.indexOf(LINE_FEED, at + 1)) records++
  return records
}
