import type { Clock } from '../../core/clock.js'
import { MAX_SKEW_MS } from '../../core/clock-skew.js'
import { parseCron } from '../../core/schedule/cron.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { SCRIPT_SCHEDULES } from '../../core/model/worker-routing.js'
import type { Scope } from '../../core/scope.js'
import { kind, VersionConflict, type Store } from '../../core/store.js'

const MINUTE_MS = 60_000
/** A minute that was missed for longer is skipped. */
const MAX_LATE_MS = 5 * MINUTE_MS
const MAX_SKEW_MINUTES = MAX_SKEW_MS / MINUTE_MS

/** The last run of a schedule. The scope is the account. The id is the script and the expression. */
interface CronRun {
  readonly minute: number
}
const CRON_RUNS = kind<CronRun>('worker_cron_run')

export interface CronDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** Whether this machine runs a script, and not another one that has its data. */
  readonly isHere: (scope: Scope, script: string) => boolean
  readonly call: (scope: Scope, script: string, event: { cron: string; scheduledTime: number }) => Promise<unknown>
  /** Returns why the script does not run now. Undefined if it runs. */
  readonly stopped: (scope: Scope, script: string) => string | undefined
  /** A due call was skipped, because its script does not run. */
  readonly skipped: () => void
}

/**
 * Calls the `scheduled` handlers of scripts when their schedules are due. Each run happens once, also with several
 * machines.
 */
export class CronScheduler {
  readonly #deps: CronDeps
  readonly #stopped = new AbortController()
  #last: number

  constructor(deps: CronDeps) {
    this.#deps = deps
    this.#last = Math.floor(deps.clock.now() / MINUTE_MS)
  }

  /** Runs until {@link close}. */
  async start(): Promise<void> {
    const { clock, log } = this.#deps
    while (!this.#stopped.signal.aborted) {
      try {
        await clock.sleep(MINUTE_MS - (clock.now() % MINUTE_MS), this.#stopped.signal)
        await this.tick()
      } catch (error) {
        if (!this.#stopped.signal.aborted) log.error({ event: 'cron_failed', error: messageOf(error) })
      }
    }
  }

  close(): void {
    this.#stopped.abort()
  }

  /**
   * Runs the schedules that became due since the last call. After the clock was set back by more than the permitted skew, the
   * repeated times run again.
   */
  async tick(): Promise<void> {
    const now = this.#deps.clock.now()
    const minute = Math.floor(now / MINUTE_MS)
    if (this.#last > minute + MAX_SKEW_MINUTES) this.#last = minute - 1
    const first = Math.max(this.#last + 1, Math.floor((now - MAX_LATE_MS) / MINUTE_MS))
    this.#last = Math.max(minute, this.#last)
    for (let at = first; at <= minute; at++) await this.#run(at)
  }

  async #run(minute: number): Promise<void> {
    const { store, isHere, call, stopped, skipped, log } = this.#deps
    const due = store
      .list(SCRIPT_SCHEDULES)
      .flatMap(({ scope, id, value }) =>
        value.schedules
          .filter(({ cron }) => parseCron(cron)?.due(new Date(minute * MINUTE_MS)) && isHere(scope, id))
          .map(({ cron }) => ({ scope, script: id, cron })),
      )
    const runs = due.map(async ({ scope, script, cron }) => {
      // Before the claim, because another machine may run the script.
      const reason = stopped(scope, script)
      if (reason !== undefined) {
        skipped()
        log.warn({ event: 'cron_skipped', account: scope.id, script, cron, reason })
        return
      }
      if (!(await this.#claim(scope, `${script} ${cron}`, minute))) return
      await call(scope, script, { cron, scheduledTime: minute * MINUTE_MS })
    })
    for (const [at, result] of (await Promise.allSettled(runs)).entries())
      if (result.status === 'rejected')
        log.warn({ event: 'cron_failed', script: due[at]?.script, error: messageOf(result.reason) })
  }

  /** Returns whether this machine runs the schedule in this minute. */
  async #claim(scope: Scope, id: string, minute: number): Promise<boolean> {
    const { store } = this.#deps
    const before = store.get(CRON_RUNS, scope, id)
    if (before && before.value.minute >= minute && before.value.minute <= minute + MAX_SKEW_MINUTES) return false
    try {
      await store.batch([{ kind: CRON_RUNS, scope, id, value: { minute }, ifVersion: before?.version ?? 0 }])
      return true
    } catch (error) {
      if (error instanceof VersionConflict) return false
      throw error
    }
  }
}
