import { Type, type Static } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import type { DryRun } from '../../src/core/model/requests/request-reader.js'
import { strict } from '../../src/core/schema.js'
import { MAX_LENGTH } from '../../src/expr/index.js'
import { PHASES } from '../../src/rules/phases.js'
import { mayUse } from '../http/auth/access.js'
import { endpoint, type Call, type Endpoint } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { AuditTime, auditTime } from '../resources/audit-entries.js'
import { Coverage, coverageOf, type RequestsDeps } from '../resources/request-item.js'

const HOUR_MS = 3_600_000
/** Requests that a run compares on each machine, those of all zones together. */
const MAX_EXAMINED = 10_000
/** A run over the zones of an account begins no further zone after this time. */
const ACCOUNT_MS = 10_000
const MAX_SAMPLES = 20
/** Agents that are counted by name. */
const MAX_AGENTS = 100
const OTHER = 'other'

const counts = (description: string) => Type.Record(Type.String(), Type.Integer(), { description })

const Run = Type.Object({
  matched: Type.Integer({ description: 'Kept requests that the expression matches.' }),
  examined: Type.Integer({ description: 'Kept requests that were compared.' }),
  since: Type.String({ format: 'date-time', description: 'Later than asked for if there were too many requests.' }),
  statuses: counts('Matched requests by status.'),
  agents: counts('Matched requests of agents by name.'),
  coverage: Coverage,
  samples: Type.Array(Type.String(), { description: 'Ray ids of the newest matched requests, at most 20.' }),
  zones: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        matched: Type.Integer(),
        examined: Type.Integer(),
        samples: Type.Array(Type.String(), { description: 'Ray ids of the newest matched requests, at most 20.' }),
      }),
      { description: 'Zones of the account whose requests were compared. Only for accounts.' },
    ),
  ),
  zones_left_out: Type.Optional(
    Type.Integer({ description: 'Zones that were not compared because the run took too long. Only for accounts.' }),
  ),
})
type Run = Static<typeof Run>

const Rule = Type.Object(
  {
    expression: Type.String({ maxLength: 4 * MAX_LENGTH }),
    phase: Type.Enum(PHASES.map(({ name }) => name)),
    since: Type.Optional(AuditTime('Inclusive. Default: one hour ago.')),
  },
  strict,
)

/** What a rule would have matched of the last requests. Nothing is changed. */
export const dryRun = (deps: RequestsDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/edged/rules/dry-run',
    scopes: ['account', 'zone'],
    permissions: ACCESS.rulesets.read,
    summary:
      'Count the last requests of a zone, or of the zones of an account, that an expression matches, of the 10,000 newest that each machine keeps',
    body: Rule,
    result: Run,
    async handle(call) {
      const { expression, phase, since } = call.body
      const from = since === undefined ? deps.clock.now() - HOUR_MS : auditTime(since, 'since')
      const rule = { expression, phase, since: from }
      const { scope } = call
      try {
        if (scope.type === 'account') return await overZones(deps, call, rule)
        return shown(await deps.requests().dryRun(scope.id, rule))
      } catch (error) {
        if (!(error instanceof InvalidInput)) throw error
        throw new InvalidInput(error.issues.map(({ message }) => ({ pointer: '/expression', message })))
      }
    },
  }),
]

const shown = (run: DryRun): Run => ({
  ...run,
  since: new Date(run.since).toISOString(),
  statuses: Object.fromEntries(run.statuses),
  agents: Object.fromEntries(run.agents),
  samples: [...run.samples],
  coverage: coverageOf(run.coverage),
})

/** Compares the requests of the zones whose rules the caller may read. Each zone gets an equal share of what is left. */
async function overZones(
  { requests, config, clock }: RequestsDeps,
  { caller, accountId }: Pick<Call, 'caller' | 'accountId'>,
  rule: { expression: string; phase: string; since: number },
): Promise<Run> {
  const waiting = config().zones.filter(
    ({ id, account }) => account === accountId && mayUse(caller, ACCESS.rulesets.read, { account, zone: id }),
  )
  const end = clock.monotonic() + ACCOUNT_MS
  const runs: DryRun[] = []
  const zones: NonNullable<Run['zones']> = []
  let left = MAX_EXAMINED
  while (waiting.length > 0 && left > 0 && clock.monotonic() < end) {
    const { id, name } = waiting[0]!
    const run = await requests().dryRun(id, { ...rule, limit: Math.ceil(left / waiting.length) })
    waiting.shift()
    runs.push(run)
    left -= Math.ceil(run.examined / run.coverage.machines)
    zones.push({ id, name, matched: run.matched, examined: run.examined, samples: [...run.samples] })
  }
  return { ...shown(joined(runs, rule.since)), zones, zones_left_out: waiting.length }
}

function joined(runs: readonly DryRun[], since: number): DryRun {
  const statuses = new Map<number, number>()
  const agents = new Map<string, number>()
  for (const run of runs) {
    for (const [status, count] of run.statuses) statuses.set(status, (statuses.get(status) ?? 0) + count)
    for (const [agent, count] of run.agents) {
      const name = agents.has(agent) || agents.size < MAX_AGENTS ? agent : OTHER
      agents.set(name, (agents.get(name) ?? 0) + count)
    }
  }
  return {
    matched: runs.reduce((sum, run) => sum + run.matched, 0),
    examined: runs.reduce((sum, run) => sum + run.examined, 0),
    since: Math.max(since, ...runs.map((run) => run.since)),
    statuses,
    agents,
    samples: runs.flatMap(({ samples }) => samples).slice(0, MAX_SAMPLES),
    coverage: {
      machines: runs.length === 0 ? 1 : Math.min(...runs.map(({ coverage }) => coverage.machines)),
      missing: [...new Set(runs.flatMap(({ coverage }) => coverage.missing))],
    },
  }
}
