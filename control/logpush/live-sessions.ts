/**
 * Live records of all machines over WebSockets: what "edge jobs" are to the public API, and what `edged tail` shows. A session lives in memory, for an hour at
 * most; its URL is its secret. A client that reads too slowly misses records, which are counted, and delays no other.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { Clock } from '../../src/core/clock.js'
import type { Log } from '../../src/core/log.js'
import type { OtherMachines } from '../../src/core/machine-streams.js'
import type { Scope } from '../../src/core/scope.js'
import { PREFIX } from '../http/prefix.js'
import {
  LiveSession,
  zoneSource,
  type LiveCounts,
  type LiveJob,
  type LiveLines,
  type LiveSource,
} from './live-session.js'

const MAX_PER_ZONE = 10
/** Sessions of `edged tail`, of all scopes. */
const MAX_TAILS = 100
/** Time for a client of one to connect, or to connect again. */
const TAIL_UNUSED_MS = 15_000
const MAX_DURATION_MS = 60 * 60_000
const UNUSED_MS = 5 * 60_000
const SWEEP_MS = 10_000

const NORMAL = 1000

/** Path of a session on the listener of the API. */
const SESSION = new RegExp(`^${PREFIX}/logpush/edge/sessions/([0-9a-f]{32})$`)
export const sessionPath = (id: string): string => `${PREFIX}/logpush/edge/sessions/${id}`

export interface LiveDeps {
  readonly lines: LiveLines
  readonly clock: Clock
  readonly log: Log
}

/** All live sessions of a daemon. */
export class LiveSessions {
  readonly counts: LiveCounts = { sent: 0, dropped: 0 }
  readonly #deps: LiveDeps
  readonly #sessions = new Map<string, LiveSession>()
  readonly #jobs = new Map<LiveSession, LiveJob>()
  readonly #sockets = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: 1024 })
  #timer: NodeJS.Timeout | undefined
  /** Undefined if no other machine uses the store. */
  machines: OtherMachines | undefined

  constructor(deps: LiveDeps) {
    this.#deps = deps
  }

  /** Returns the sessions of a zone with their input, in the order of their creation. */
  list(scope: Scope): (readonly [session: LiveSession, job: LiveJob])[] {
    this.sweep()
    return [...this.#jobs].filter(([session]) => session.scope.id === scope.id)
  }

  /** Creates a session. Returns undefined if the zone has as many as it may have. Throws InvalidInput for a job that does not fit. */
  open(scope: Scope, job: LiveJob, requestId: string): LiveSession | undefined {
    if (this.list(scope).length >= MAX_PER_ZONE) return undefined
    const session = this.#made(scope, zoneSource(job), { requestId, tellsMissed: false })
    this.#jobs.set(session, job)
    return session
  }

  /** Makes a session that `edged tail` reads; undefined if there are too many. Throws InvalidInput for a source that does not fit. */
  tail(scope: Scope, source: LiveSource, requestId: string): LiveSession | undefined {
    this.sweep()
    if (this.#sessions.size - this.#jobs.size >= MAX_TAILS) return undefined
    return this.#made(scope, source, { requestId, tellsMissed: true })
  }

  #made(scope: Scope, source: LiveSource, made: { requestId: string; tellsMissed: boolean }): LiveSession {
    const id = randomBytes(16).toString('hex')
    const session = new LiveSession(source, {
      ...this.#deps,
      ...made,
      id,
      scope,
      counts: this.counts,
      machines: this.machines,
    })
    this.#sessions.set(id, session)
    this.#timer ??= setInterval(() => this.sweep(), SWEEP_MS).unref()
    return session
  }

  /** Accepts a connection to the path of a session. Returns false, and does nothing, for any other path. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const [, id = ''] = SESSION.exec(request.url?.split('?', 1)[0] ?? '') ?? []
    this.sweep()
    const session = this.#sessions.get(id)
    if (!session) return false
    this.#sockets.handleUpgrade(request, socket, head, (client) => session.join(client, socket))
    return true
  }

  /** Ends sessions after one hour, sessions that nobody has used for five minutes, and clients that do not respond. */
  sweep(): void {
    const now = this.#deps.clock.monotonic()
    for (const [id, session] of this.#sessions) {
      const over = now - session.madeAt >= MAX_DURATION_MS
      if (!over) session.clients.probe()
      const unusedMs = this.#jobs.has(session) ? UNUSED_MS : TAIL_UNUSED_MS
      if (!over && session.clients.unusedMs < unusedMs) continue
      this.#sessions.delete(id)
      this.#jobs.delete(session)
      session.clients.close(NORMAL, 'the session is over')
    }
    if (this.#sessions.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Asks every client to go; those that do not are disconnected a little later. */
  closeAll(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    for (const { clients } of this.#sessions.values()) clients.closeAll()
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    this.closeAll()
    const sessions = [...this.#sessions.values()]
    this.#sessions.clear()
    this.#jobs.clear()
    await Promise.all(sessions.map(async (session) => await session.close()))
  }
}
