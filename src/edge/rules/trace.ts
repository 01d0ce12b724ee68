import type { Clock } from '../../core/clock.js'
import { toBytes } from '../../expr/index.js'
import { Exchange } from '../exchange/exchange.js'
import { fieldContext } from '../../rules/fields/index.js'
import type { FieldDeps } from '../../rules/fields/source.js'
import type { PhaseName } from '../../rules/phases.js'
import type { Zones } from '../exchange/zones.js'
import type { TraceObserver } from '../../rules/engine/run.js'
import type { Execution, TraceRequest, TraceResult, TraceStep } from '../../rules/types.js'

export interface TracerOptions {
  readonly zones: Zones
  readonly fields: FieldDeps
  readonly clock: Clock
  /** Maximum bytes of a body that rules read. */
  readonly bodyBytes: () => number
}

/** Maximum number of steps in a trace; later ones are left out. Rulesets that run many times create long traces. */
const MAX_STEPS = 20_000

/** Client address of traced requests: an unassigned one (RFC 5737). */
const VISITOR = '192.0.2.1'

/**
 * Evaluates requests on the request phases of the active rules: no origin is contacted, nothing is counted or logged,
 * and rules with a rate limit do not match. Returns undefined if no zone of the account serves the host.
 */
export function tracer({ zones, fields, clock, bodyBytes }: TracerOptions) {
  return (accountId: string, request: TraceRequest): TraceResult | undefined => {
    const { url, body } = request
    const served = zones.current.find(url.host)
    if (served?.zone.accountId !== accountId) return undefined
    const rawHeaders = ['host', url.host, ...request.headers.map(toBytes)]
    const target = url.pathname + url.search
    const exchange = new Exchange({
      rayId: '0'.repeat(16),
      clientAddress: request.clientAddress ?? VISITOR,
      scheme: url.protocol === 'https:' ? 'https' : 'http',
      served,
      method: request.method,
      target,
      httpVersion: request.httpVersion,
      rawHeaders,
      headers: [...rawHeaders],
      local: {},
      tls: undefined,
      trustedFields: request.fields,
      startedAt: clock.now(),
      startedMonotonic: clock.monotonic(),
    })
    const limit = bodyBytes()
    const bytes = (body ?? Buffer.alloc(0)).subarray(0, limit).toString('latin1')
    const size = body?.length ?? 0
    exchange.body = { bytes, size, truncated: size > limit, release() {} }
    const steps = new Steps(request.skipsChallenges)
    const run = served.zone.rules?.begin(exchange, fieldContext(exchange, fields), steps)
    exchange.run = run
    const ending = run?.request()
    if (ending?.kind === 'close') return { trace: steps.trace }
    return { status_code: ending?.status ?? 200, trace: steps.trace }
  }
}

/** A ruleset that is being run: the results of its rules so far, by their position. */
interface Frame {
  readonly execution: Execution
  readonly acted: Map<number, TraceStep[]>
  readonly matched: Set<number>
  at: number
  /** The rule after which no other was evaluated. */
  last: number
}

/** Records the steps of a run. */
class Steps implements TraceObserver {
  readonly trace: TraceStep[] = []
  readonly skipsChallenges: boolean
  readonly #frames: Frame[] = []
  #room = MAX_STEPS

  constructor(skipsChallenges: boolean) {
    this.skipsChallenges = skipsChallenges
  }

  phase(name: PhaseName): void {
    this.trace.push({ type: 'phase', step_name: name, matched: false, trace: [] })
  }

  entered(execution: Execution): void {
    const last = execution.rules.length - 1
    this.#frames.push({ execution, acted: new Map(), matched: new Set(), at: 0, last })
  }

  acting(at: number): void {
    const frame = this.#frames.at(-1)!
    frame.at = at
    frame.acted.set(at, [])
  }

  acted(matched: boolean, last: boolean): void {
    const frame = this.#frames.at(-1)!
    if (matched) frame.matched.add(frame.at)
    if (last) frame.last = frame.at
  }

  left(): void {
    const frame = this.#frames.pop()!
    const parent = this.#frames.at(-1)
    const into = parent ? parent.acted.get(parent.at)! : this.trace.at(-1)!.trace!
    if (this.#room-- <= 0) return
    const { id, kind, name, description } = frame.execution.ruleset
    const matched = frame.matched.size > 0
    into.push({ type: 'ruleset', step_name: id, kind, name, description, matched, trace: this.#rules(frame) })
    if (!parent && matched) this.trace.at(-1)!.matched = true
  }

  #rules({ execution, acted, matched, last }: Frame): TraceStep[] {
    const shown = execution.rules.slice(0, Math.min(last + 1, Math.max(this.#room, 0)))
    this.#room -= shown.length
    return shown.map(({ rule, action }, at) => {
      const below = acted.get(at)
      return {
        type: 'rule',
        step_name: rule.id,
        matched: matched.has(at),
        action,
        ...(rule.action_parameters !== undefined && { action_parameters: rule.action_parameters }),
        expression: rule.expression,
        ...(rule.description !== undefined && { description: rule.description }),
        ...(below !== undefined && below.length > 0 && { trace: below }),
      }
    })
  }
}
