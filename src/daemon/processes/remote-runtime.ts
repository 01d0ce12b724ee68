import type { Scope } from '../../core/scope.js'
import type { EnteredWorker } from '../../edge/workers/worker-run.js'
import { DataAway } from '../../workers/runtime/data-homes.js'
import type { WorkerRunner } from '../workers/registry.js'
import type { DaemonChannel } from './protocol.js'

/** The daemon's runtime of Workers. Requests go to its sockets directly; the daemon only counts them. */
export class RemoteRuntime implements WorkerRunner {
  readonly #daemon: () => DaemonChannel

  constructor(daemon: () => DaemonChannel) {
    this.#daemon = daemon
  }

  /** The daemon decides that when a request enters. */
  isQuarantined(): boolean {
    return false
  }

  async enter(scope: Scope, version: string): Promise<EnteredWorker> {
    const daemon = this.#daemon()
    const entered = await daemon.call('enterRuntime', { scope, id: version })
    if ('away' in entered) throw new DataAway(entered.away)
    const { id, script, socket } = entered
    return {
      script,
      socket,
      threw: (rayId) => daemon.post('runtimeThrew', { id, rayId }),
      cut: () => daemon.call('cutRuntime', id),
      done: () => daemon.post('leaveRuntime', id),
    }
  }
}
