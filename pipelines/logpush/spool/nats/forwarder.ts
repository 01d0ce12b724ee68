import type { Clock } from '../../../../src/core/clock.js'
import { messageOf } from '../../../../src/core/errors.js'
import type { Log } from '../../../../src/core/log.js'
import type { Scope } from '../../../../src/core/scope.js'
import {
  SpoolFull,
  SpoolUnavailable,
  type Cursor,
  type EventSpool,
  type EventSpools,
  type Frame,
  type Spool,
  type Spools,
} from '../types.js'

/** Cursor of the forwarder in the spools of this machine. */
const CURSOR = 'forward'
/** Frames between two saves of a cursor. Frames forwarded since the last save are recognized by their id. */
const SAVE_FRAMES = 16
const AGAIN_MS = 1000
/** Time to forward the rest at the end. Remaining frames are forwarded after the next start. */
const DRAIN_MS = 3000

/** A shared spool, as far as the forwarder needs it. */
interface Target {
  /** Stores the records of a frame once, however often it is called with the same id. */
  forward(frame: Frame, id: string): Promise<void>
}

export interface ForwarderDeps {
  /** Spools in a folder of this machine. */
  readonly local: Spools
  readonly open: (dataset: string, scope: Scope) => Promise<Target>
  readonly clock: Clock
  readonly log: Log
}

/**
 * Records of the daemon itself are durable on this machine first and follow to the shared spool, so that none is lost while
 * its servers are away.
 */
export class Forwarder implements EventSpools {
  readonly #deps: ForwarderDeps
  readonly #loops = new Map<Spool, Promise<void>>()
  readonly #closing = new AbortController()
  readonly #ending = new AbortController()

  constructor(deps: ForwarderDeps) {
    this.#deps = deps
  }

  /** Forwards frames left by an earlier run, including records of jobs of an embedded spool. */
  async start(): Promise<void> {
    const { log } = this.#deps
    for (const spool of this.#deps.local.all()) {
      const others = spool.cursors.filter((name) => name !== CURSOR)
      const isNew = !spool.cursors.includes(CURSOR)
      if (isNew && others.length === 0) continue
      const cursor = await spool.cursor(CURSOR)
      let { next } = cursor.state
      for (const name of others) {
        const other = await spool.cursor(name)
        if (isNew) next = Math.min(next, other.state.next)
        await cursor.save({ next })
        await other.remove()
      }
      const records = spool.behind(next)
      if (records > 0) log.info({ event: 'spool_forwarding', dataset: spool.dataset, scope: spool.scope, records })
      this.#follow(spool, cursor)
    }
  }

  async open(dataset: string, scope: Scope): Promise<EventSpool> {
    const spool = await this.#deps.local.open(dataset, scope)
    this.#follow(spool, await spool.cursor(CURSOR))
    return spool
  }

  async close(): Promise<void> {
    this.#closing.abort()
    const over = new AbortController()
    const drained = Promise.all(this.#loops.values())
    await Promise.race([drained, this.#deps.clock.sleep(DRAIN_MS, over.signal).catch(() => {})])
    over.abort()
    this.#ending.abort()
    await drained
  }

  #follow(spool: Spool, cursor: Cursor): void {
    if (!this.#loops.has(spool)) this.#loops.set(spool, this.#run(spool, cursor))
  }

  async #run(spool: Spool, cursor: Cursor): Promise<void> {
    const { clock, log } = this.#deps
    while (!this.#ending.signal.aborted) {
      try {
        await this.#forward(spool, cursor)
        if (this.#closing.signal.aborted) return
        await spool.waitFor(cursor.state.next, this.#closing.signal).catch(() => {})
      } catch (error) {
        if (!(error instanceof SpoolFull)) log.error({ event: 'spool_forward_failed', error: messageOf(error) })
        // While the servers are away there is nothing to wait for at the end.
        if (error instanceof SpoolUnavailable && this.#closing.signal.aborted) return
        await clock.sleep(AGAIN_MS, this.#ending.signal).catch(() => {})
      }
    }
  }

  /** Forwards all that there is. */
  async #forward(spool: Spool, cursor: Cursor): Promise<void> {
    const { local, open } = this.#deps
    const { dataset, scope } = spool
    const target = await open(dataset, scope)
    let { next } = cursor.state
    try {
      for (let frames = 1; !this.#ending.signal.aborted; frames++) {
        const frame = await spool.frame(next)
        if (frame === undefined) return
        try {
          await target.forward(frame, `${local.id}.${dataset}.${scope.type}.${scope.id}.${frame.first}`)
        } finally {
          frame.release()
        }
        next = frame.first + frame.count
        if (frames % SAVE_FRAMES === 0) await cursor.save({ next })
      }
    } finally {
      if (next !== cursor.state.next) await cursor.save({ next })
    }
  }
}
