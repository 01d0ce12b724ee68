import type { Clock } from '../../../../src/core/clock.js'
import type { Scope } from '../../../../src/core/scope.js'
import { kind, StoreUnavailable, VersionConflict, type Store, type Stored } from '../../../../src/core/store.js'
import { LOGPUSH_LEASES } from '../../../../src/core/model/logpush-job.js'
import { CursorLost, type Cursor, type CursorState } from '../types.js'
import type { ReaderLeases } from './reader-leases.js'

/** A cursor of a shared spool. The scope is the scope of the records. The id is dataset and name. */
interface SharedState {
  /** Stream of the positions. */
  readonly spool: string
  readonly state: CursorState
}

/** Cursors of spools that several machines share. */
export const LOGPUSH_CURSORS = kind<SharedState>('logpush_cursor')

const AGAIN_MS = 500

/** Returns the id of the record of a cursor. No dataset has a colon in its name. */
export const cursorId = (dataset: string, name: string): string => `${dataset}:${name}`

/** Returns the dataset of a cursor. */
export const datasetOfCursor = (id: string): string => id.slice(0, id.indexOf(':'))

export interface CursorDeps {
  readonly store: Store
  readonly clock: Clock
  readonly leases: ReaderLeases
  /** Id of the stream. */
  readonly stream: () => string
}

/**
 * Position of one reader in the store. Each save names the version that it follows, so a machine that lost the cursor
 * cannot save.
 */
export class SharedCursor implements Cursor {
  readonly #deps: CursorDeps
  readonly #scope: Scope
  readonly #id: string
  /** Version that the next save follows. */
  #version: number
  /** State that this machine saved last. */
  #last: CursorState
  #saving: Promise<void> = Promise.resolve()
  /**
   * Whether this machine reads or has read for the cursor. Only then its own state may be followed, because other
   * machines overwrite the stored state.
   */
  #taken = false

  constructor(deps: CursorDeps, { scope, id, version, value }: Stored<SharedState>) {
    this.#deps = deps
    this.#scope = scope
    this.#id = id
    this.#version = version
    this.#last = value.state
  }

  get state(): CursorState {
    return stateOf(this.#stored?.value, this.#deps) ?? this.#last
  }

  get isTakenElsewhere(): boolean {
    return this.#deps.leases.isElsewhere(this.#scope, this.#id)
  }

  async take(lost: () => void, signal: AbortSignal): Promise<void> {
    const { leases, clock } = this.#deps
    await leases.hold(this.#scope, this.#id, lost, signal)
    this.#taken = true
    // A new version rejects all further saves of the machine before.
    for (;;) {
      signal.throwIfAborted()
      const version = this.#stored?.version ?? 0
      try {
        await this.#write(this.state, version)
        return
      } catch (error) {
        if (!(error instanceof VersionConflict || error instanceof StoreUnavailable)) throw error
        await clock.sleep(AGAIN_MS, signal)
      }
    }
  }

  async save(state: CursorState): Promise<void> {
    const saving = this.#saving.then(async () => await this.#save(state))
    this.#saving = saving.catch(() => undefined)
    await saving
  }

  async remove(): Promise<void> {
    const { store } = this.#deps
    const ifVersion = this.#stored?.version
    if (ifVersion === undefined) return
    const of = { scope: this.#scope, id: this.#id, value: undefined }
    try {
      await store.batch([
        { kind: LOGPUSH_CURSORS, ...of, ifVersion },
        { kind: LOGPUSH_LEASES, ...of },
      ])
    } catch (error) {
      // Another machine removed it, or it began to be used again.
      if (!(error instanceof VersionConflict)) throw error
    }
  }

  get #stored(): Stored<SharedState> | undefined {
    return this.#deps.store.get(LOGPUSH_CURSORS, this.#scope, this.#id)
  }

  /** Waits for a store that is away as long as the lease is held. */
  async #save(state: CursorState): Promise<void> {
    const { clock, leases } = this.#deps
    for (;;) {
      try {
        return await this.#write(state, this.#taken ? this.#version : (this.#stored?.version ?? 0))
      } catch (error) {
        if (error instanceof VersionConflict) {
          const stored = this.#stored
          // A write in flight when the connection broke may have succeeded.
          if (stored === undefined || JSON.stringify(stored.value.state) !== JSON.stringify(state))
            throw new CursorLost('another machine reads on, or the cursor was removed')
          this.#version = stored.version
          this.#last = state
          return
        }
        if (!(error instanceof StoreUnavailable)) throw error
        if (!leases.isHeld(this.#scope, this.#id)) throw new CursorLost('the store is away', { cause: error })
      }
      await clock.sleep(AGAIN_MS)
    }
  }

  async #write(state: CursorState, ifVersion: number): Promise<void> {
    const value: SharedState = { spool: this.#deps.stream(), state }
    const write = { kind: LOGPUSH_CURSORS, scope: this.#scope, id: this.#id, value, ifVersion }
    this.#version = await this.#deps.store.batch([write])
    this.#last = state
  }
}

/** Returns a state. If the stream was replaced since, the state begins with the new stream. */
export function stateOf(
  value: SharedState | undefined,
  { stream }: Pick<CursorDeps, 'stream'>,
): CursorState | undefined {
  if (value === undefined) return undefined
  return value.spool === stream() ? value.state : { next: 0 }
}

/** The place of a reader that ends with this process. */
export class LocalCursor implements Cursor {
  state: CursorState
  readonly #removed: () => void

  constructor(state: CursorState, removed: () => void) {
    this.state = state
    this.#removed = removed
  }

  // oxlint-disable-next-line typescript/require-await
  async save(state: CursorState): Promise<void> {
    this.state = state
  }

  // oxlint-disable-next-line typescript/require-await
  async remove(): Promise<void> {
    this.#removed()
  }
}
