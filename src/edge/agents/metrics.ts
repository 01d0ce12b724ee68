import type { Outcome, Verdict } from '../../agents/signatures/verify.js'
import { collectedMetrics } from '../../core/metrics/collected-metrics.js'
import type { Metrics } from '../../core/metrics/metrics.js'

/** Counts verdicts about signatures of requests by outcome and reason. */
export class SignatureMetrics {
  readonly #counts = new Map<string, { readonly outcome: Outcome; readonly reason: string; count: number }>()

  constructor(metrics: Metrics) {
    const counts = this.#counts
    collectedMetrics(metrics).counters(
      'edged_agent_signatures_total',
      'Requests with signatures (Web Bot Auth) by outcome and reason.',
      ['outcome', 'reason'],
      function* () {
        for (const { outcome, reason, count } of counts.values()) yield [{ outcome, reason }, count]
      },
    )
  }

  judged({ outcome, reason }: Verdict): void {
    const id = `${outcome} ${reason}`
    const known = this.#counts.get(id)
    if (known) known.count++
    else this.#counts.set(id, { outcome, reason, count: 1 })
  }
}
