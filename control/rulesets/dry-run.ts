import { Type } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import { strict } from '../../src/core/schema.js'
import { MAX_LENGTH } from '../../src/expr/index.js'
import { PHASES } from '../../src/rules/phases.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { AuditTime, auditTime } from '../resources/audit-entries.js'
import { Coverage, coverageOf, type RequestsDeps } from '../resources/request-item.js'

const HOUR_MS = 3_600_000

const counts = (description: string) => Type.Record(Type.String(), Type.Integer(), { description })

/** What a rule would have matched of the last requests. Nothing is changed. */
export const dryRun = ({ requests, clock }: RequestsDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/edged/rules/dry-run',
    scopes: ['zone'],
    permissions: ACCESS.rulesets.read,
    summary:
      'Count the last requests of a zone that an expression matches, of the 10,000 newest that each machine keeps',
    body: Type.Object(
      {
        expression: Type.String({ maxLength: 4 * MAX_LENGTH }),
        phase: Type.Enum(PHASES.map(({ name }) => name)),
        since: Type.Optional(AuditTime('Inclusive. Default: one hour ago.')),
      },
      strict,
    ),
    result: Type.Object({
      matched: Type.Integer({ description: 'Kept requests that the expression matches.' }),
      examined: Type.Integer({ description: 'Kept requests that were compared.' }),
      since: Type.String({ format: 'date-time', description: 'Later than asked for if there were too many requests.' }),
      statuses: counts('Matched requests by status.'),
      agents: counts('Matched requests of agents by name.'),
      coverage: Coverage,
      samples: Type.Array(Type.String(), { description: 'Ray ids of the newest matched requests, at most 20.' }),
    }),
    async handle({ scope, body: { expression, phase, since } }) {
      const from = since === undefined ? clock.now() - HOUR_MS : auditTime(since, 'since')
      try {
        const run = await requests().dryRun(scope.id, { expression, phase, since: from })
        return {
          ...run,
          since: new Date(run.since).toISOString(),
          statuses: Object.fromEntries(run.statuses),
          agents: Object.fromEntries(run.agents),
          samples: [...run.samples],
          coverage: coverageOf(run.coverage),
        }
      } catch (error) {
        if (!(error instanceof InvalidInput)) throw error
        throw new InvalidInput(error.issues.map(({ message }) => ({ pointer: '/expression', message })))
      }
    },
  }),
]
