import type { Scope } from '../../core/scope.js'
import type { EnteredWorker } from '../../edge/workers/worker-run.js'
import { DataAway } from '../../workers/runtime/data-homes.js'
import type { Cut } from '../../workers/runtime/types.js'

/** A request of a proxy process in the Workers runtime. */
export type EnteredRuntime =
  | { readonly id: number; readonly script: string; readonly socket: string }
  /** Why the data of the script cannot be reached now. */
  | { readonly away: string }

/** The daemon's runtime of Workers. */
export interface RuntimeOfDaemon {
  /** Reserves a slot for a request of a version. Throws or rejects if its script does not run. */
  enter(scope: Scope, version: string): EnteredWorker | Promise<EnteredWorker>
}

/** The requests of one proxy process that are in the runtime. */
export class RuntimeSlots {
  readonly #runtime: () => RuntimeOfDaemon | undefined
  readonly #entries = new Map<number, EnteredWorker>()
  #number = 0
  #closed = false

  constructor(runtime: () => RuntimeOfDaemon | undefined) {
    this.#runtime = runtime
  }

  async enter(scope: Scope, version: string): Promise<EnteredRuntime> {
    const runtime = this.#runtime()
    if (!runtime) throw new Error('this server runs no Workers')
    let entry: EnteredWorker
    try {
      entry = await runtime.enter(scope, version)
    } catch (error) {
      if (error instanceof DataAway) return { away: error.message }
      throw error
    }
    // The process may have ended while the request waited.
    if (this.#closed) entry.done()
    const id = ++this.#number
    if (!this.#closed) this.#entries.set(id, entry)
    return { id, script: entry.script, socket: entry.socket }
  }

  async cut(id: number): Promise<Cut> {
    return (await this.#entries.get(id)?.cut()) ?? 'none'
  }

  threw(id: number, rayId: string): void {
    this.#entries.get(id)?.threw(rayId)
  }

  leave(ids: readonly number[]): void {
    for (const id of ids) {
      this.#entries.get(id)?.done()
      this.#entries.delete(id)
    }
  }

  /** Releases the slots of a process that has ended. */
  close(): void {
    this.#closed = true
    for (const entry of this.#entries.values()) entry.done()
    this.#entries.clear()
  }
}
