import type { Outcome, Verdict } from '../../agents/signatures/verify.js'
import { collectedMetrics } from '../../core/metrics/collected-metrics.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import type { Exchange } from '../exchange/exchange.js'

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

/** Signers that the catalogue lacks; further ones share a name. */
const MAX_SIGNERS = 100
const OTHER = 'other signed'

/** Counts requests of agents by name, verification and what \`access\` did. */
export class AgentMetrics {
  readonly #counts = new Map<
    string,
    { readonly labels: Record<'agent' | 'verified' | 'action', string>; count: number }
  >()
  readonly #signers = new Set<string>()

  constructor(metrics: Metrics) {
    const counts = this.#counts
    collectedMetrics(metrics).counters(
      'edged_agent_requests_total',
      `Finished requests of agents. Signers after the first ${MAX_SIGNERS} that the catalogue lacks share the name "${OTHER}".`,
      ['agent', 'verified', 'action'],
      function* () {
        for (const { labels, count } of counts.values()) yield [labels, count]
      },
    )
  }

  finished({ agent, agentAction }: Pick<Exchange, 'agent' | 'agentAction'>): void {
    if (agent === undefined) return
    const action = agentAction ?? 'none'
    const name = agent.verified === 'signature' && !agent.isVerifiedBot ? this.#signerOf(agent.name) : agent.name
    const id = `${name}\n${agent.verified}\n${action}`
    const known = this.#counts.get(id)
    if (known) known.count++
    else this.#counts.set(id, { labels: { agent: name, verified: agent.verified, action }, count: 1 })
  }

  #signerOf(host: string): string {
    if (this.#signers.size < MAX_SIGNERS) this.#signers.add(host)
    return this.#signers.has(host) ? host : OTHER
  }
}
