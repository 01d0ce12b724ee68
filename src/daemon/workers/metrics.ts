import { collectedMetrics } from '../../core/metrics/collected-metrics.js'
import type { Clock } from '../../core/clock.js'
import { LabelledHistogram, type Observations } from '../../core/metrics/histogram.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import type { WorkerOutcome } from '../../edge/workers/worker-run.js'

/** Scripts with a label of their own, the first ones by time. All others share the label `other` of their account. */
const MAX_SCRIPTS = 200
const MAX_SCRIPTS_PER_ACCOUNT = 50
const MAX_ACCOUNTS = 200
const OTHER = 'other'
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30]

/** Counts of one script. */
interface ScriptCounts {
  readonly outcomes: Map<WorkerOutcome, number>
  readonly seconds: Observations
}

/** Counts requests of Workers by script. Plain numbers while requests run; converted when the registry is read. */
export class WorkerMetrics {
  readonly #clock: Clock
  readonly #seconds: LabelledHistogram
  /** By labels: account and script. */
  readonly #accounts = new Map<string, Map<string, ScriptCounts>>()
  #scripts = 0
  #lost = 0
  #skipped = 0

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock
    const { counter, counters } = collectedMetrics(metrics)
    const accounts = this.#accounts
    counters(
      'edged_worker_requests_total',
      `Requests that Workers received, by script, outcome and account. Scripts after the first ${MAX_SCRIPTS}, or ${MAX_SCRIPTS_PER_ACCOUNT} of an account, share the label "${OTHER}".`,
      ['script', 'outcome', 'account'],
      function* () {
        for (const [account, scripts] of accounts)
          for (const [script, { outcomes }] of scripts)
            for (const [outcome, count] of outcomes) yield [{ script, outcome, account }, count]
      },
    )
    this.#seconds = new LabelledHistogram(metrics, {
      name: 'edged_worker_duration_seconds',
      help: 'Duration from the client request to the end of the response of a Worker in seconds, by script and account.',
      buckets: BUCKETS,
    })
    counter(
      'edged_worker_traces_lost_total',
      'Trace events of Workers that were dropped because a process had too many of them.',
      () => this.#lost,
    )
    counter(
      'edged_worker_schedules_skipped_total',
      'Scheduled calls of Workers that were skipped because the script did not run.',
      () => this.#skipped,
    )
  }

  tracesLost(count: number): void {
    this.#lost += count
  }

  scheduleSkipped(): void {
    this.#skipped += 1
  }

  /** Counts a request that arrived at `startedMonotonic`, in milliseconds on the clock's `monotonic` scale. */
  ended(account: string, script: string, outcome: WorkerOutcome, startedMonotonic: number): void {
    const { outcomes, seconds } = this.#accounts.get(account)?.get(script) ?? this.#open(account, script)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    seconds.observe((this.#clock.monotonic() - startedMonotonic) / 1000)
  }

  /** Returns the counts of the labels that the script gets. */
  #open(id: string, name: string): ScriptCounts {
    const isOwnAccount = this.#accounts.has(id) || this.#accounts.size < MAX_ACCOUNTS
    const account = isOwnAccount ? id : OTHER
    const scripts = this.#accounts.get(account) ?? new Map<string, ScriptCounts>()
    this.#accounts.set(account, scripts)
    const isOwnScript = isOwnAccount && scripts.size < MAX_SCRIPTS_PER_ACCOUNT && this.#scripts < MAX_SCRIPTS
    const script = isOwnScript ? name : OTHER
    const known = scripts.get(script)
    if (known) return known
    if (isOwnScript) this.#scripts += 1
    const counts = { outcomes: new Map<WorkerOutcome, number>(), seconds: this.#seconds.series({ script, account }) }
    scripts.set(script, counts)
    return counts
  }
}
