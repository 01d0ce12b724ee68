import type { Scope } from '../../core/scope.js'
import type { EnteredWorker } from '../../edge/workers/worker-run.js'
import { DataAway } from '../../workers/runtime/data-homes.js'
import type { WorkerRunner } from '../workers/registry.js'
import type { DaemonChannel } from './protocol.js'

/** The daemon learns that a request has ended after this time, or with the next request that begins. */
const LEAVE_MS = 10

/** The daemon's runtime of Workers. Requests go to its sockets directly; the daemon only counts them. */
export class RemoteRuntime implements WorkerRunner {
  readonly #daemon: () => DaemonChannel
  /** Slots of requests that have ended, which the daemon does not know yet. */
  #left: number[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(daemon: () => DaemonChannel) {
    this.#daemon = daemon
  }

  /** The daemon decides that when a request enters. */
  isQuarantined(): boolean {
    return false
  }

  async enter(scope: Scope, version: string): Promise<EnteredWorker> {
    const daemon = this.#daemon()
    const entered = await daemon.call('enterRuntime', { scope, id: version, left: this.#taken() }, { together: true })
    if ('away' in entered) throw new DataAway(entered.away)
    const { id, script, socket } = entered
    return {
      script,
      socket,
      threw: (rayId) => daemon.post('runtimeThrew', { id, rayId }),
      cut: () => daemon.call('cutRuntime', id),
      done: () => this.#leave(id),
    }
  }

  #leave(id: number): void {
    this.#left.push(id)
    if (this.#timer) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#left.length > 0) this.#daemon().post('leaveRuntime', this.#taken())
    }, LEAVE_MS).unref()
  }

  #taken(): readonly number[] {
    const left = this.#left
    this.#left = []
    return left
  }
}
