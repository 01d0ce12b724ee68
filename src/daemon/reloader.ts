import type { Config } from '../config/schema.js'
import type { Clock } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { KeyedMutex } from '../core/keyed-mutex.js'
import type { Log } from '../core/log.js'
import type { ConfigChanges } from './config/changes.js'
import type { LastReload, ReloadResponse } from './state/status.js'

/** The configuration file of a daemon. */
export interface DaemonFile {
  readonly path: string
  /** Reads and checks the file. Throws if it is not usable. */
  read(inForce: Config): Config | Promise<Config>
}

/** The parts that a reload changes, once all parts are started. */
export interface Reloadable {
  readonly config: () => Config
  /** Puts `next` in force. Rejects, and changes nothing, if it is not usable. */
  apply(next: Config): Promise<ConfigChanges>
  /** Opens the log files again under their names. */
  reopenLogs(): Promise<unknown>
}

const TURN = 'reload'

/** Applies changed configurations, one after the other: concurrent reloads would undo each other. */
export class Reloader {
  readonly #file: DaemonFile | undefined
  readonly #clock: Clock
  readonly #log: Log
  readonly #turns = new KeyedMutex()
  #parts: Reloadable | undefined
  #closed = false
  #last: LastReload | null = null

  constructor(file: DaemonFile | undefined, { clock, log }: { clock: Clock; log: Log }) {
    this.#file = file
    this.#clock = clock
    this.#log = log
  }

  /** Outcome of the last reload of the file; null before the first. */
  get last(): LastReload | null {
    return this.#last
  }

  /** From now on reloads are possible. */
  start(parts: Reloadable): void {
    this.#parts = parts
  }

  /** Applies a configuration, without a dropped request. Rejects, and changes nothing, if it is not usable. */
  async reload(next: Config): Promise<ConfigChanges> {
    return await this.#inTurn(() => next)
  }

  /** Reads the configuration file and applies it; opens log files again. Rejects, and changes nothing, if it is not usable. */
  async reloadFile(): Promise<ConfigChanges> {
    const file = this.#file
    if (!file) throw new Error('the daemon was started without a configuration file')
    // First: also if the configuration cannot be used, because rotated logs must not grow under their old name.
    await this.#parts?.reopenLogs()
    const at = new Date(this.#clock.now()).toISOString()
    try {
      const changes = await this.#inTurn((inForce) => file.read(inForce))
      this.#last = { at, error: null }
      this.#log.info({ event: 'reloaded', file: file.path, changed: changes.changed }, 'configuration read again')
      return changes
    } catch (error) {
      this.#last = { at, error: messageOf(error) }
      this.#log.error(
        { event: 'reload_failed', file: file.path, error: messageOf(error) },
        'the configuration stays as it was',
      )
      throw error
    }
  }

  /** Reloads the file for `edged reload`. Never rejects. */
  async respond(): Promise<ReloadResponse> {
    if (!this.#parts) return { error: 'the daemon is starting' }
    try {
      const { changed, restartNeeded, keptRules } = await this.reloadFile()
      return { changed, restart_needed: restartNeeded, ...(keptRules && { kept_rules: keptRules }) }
    } catch (error) {
      return { error: messageOf(error) }
    }
  }

  /** Refuses further reloads, then waits for one that runs and calls `stop`. */
  async close(stop: () => Promise<void>): Promise<void> {
    this.#closed = true
    await this.#turns.run(TURN, stop)
  }

  async #inTurn(read: DaemonFile['read']): Promise<ConfigChanges> {
    return await this.#turns.run(TURN, async () => {
      // A listener opened now would outlive the daemon.
      if (this.#closed) throw new Error('shutting down')
      if (!this.#parts) throw new Error('the daemon is starting')
      return await this.#parts.apply(await read(this.#parts.config()))
    })
  }
}
