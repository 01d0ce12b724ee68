import type { Scope } from '../../core/scope.js'
import type { EnteredWorker } from '../../edge/worker-run.js'
import type { WorkerRunner } from '../worker-registry.js'
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
    const { id, script, socket } = await daemon.call('enterRuntime', { scope, id: version })
    return {
      script,
      socket,
      cut: () => daemon.call('cutRuntime', id),
      done: () => daemon.post('leaveRuntime', id),
    }
  }
}
