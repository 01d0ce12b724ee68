import { Type } from 'typebox'
import { messageOf } from '../../src/core/errors.js'
import { parseCron } from '../../src/core/schedule/cron.js'
import { SCRIPT_SCHEDULES } from '../../src/core/model/worker-routing.js'
import { strict } from '../../src/core/schema.js'
import { audited } from '../resources/audit.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { scriptOf } from './services/find.js'

const PATH = '/workers/scripts/:script_name/schedules'
const MAX_SCHEDULES = 250

const NewSchedules = Type.Array(
  Type.Object(
    {
      cron: Type.String({ description: 'Minute, hour, day of the month, month, day of the week; UTC.' }),
      created_on: Type.Optional(Type.String({ description: 'Ignored.' })),
      modified_on: Type.Optional(Type.String({ description: 'Ignored.' })),
    },
    strict,
  ),
  { maxItems: MAX_SCHEDULES },
)
const Schedules = Type.Object({
  schedules: Type.Array(Type.Object({ cron: Type.String(), created_on: Type.String(), modified_on: Type.String() })),
})

const RunNow = Type.Object({ cron: Type.String({ description: 'One of its schedules.' }) }, strict)
const Ran = Type.Object({
  success: Type.Boolean(),
  message: Type.String({ description: 'Why it failed; empty if it succeeded.' }),
})

const rows = area({ scopes, access: ACCESS.workers, refusal: 'badSchedules' }, (deps: WorkersDeps) => {
  const { store, clock, edits } = deps
  return { deps, store, clock, edits }
})

/** When Workers are woken. */
export const schedules = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the schedules of a Worker',
    result: Schedules,
    handle({ deps, store }, { scope, params }) {
      scriptOf(deps, scope, params.script_name)
      const found = store.get(SCRIPT_SCHEDULES, scope, params.script_name)
      return { schedules: [...(found?.value.schedules ?? [])] }
    },
  }),
  rows.put(PATH, {
    summary: 'Replace the schedules of a Worker',
    body: NewSchedules,
    maxBytes: 128 * 1024,
    result: Schedules,
    async handle({ deps, store, clock, edits }, call) {
      const { scope, params, body } = call
      const id = params.script_name
      const crons = body.map(({ cron }) => cron.trim())
      for (const [at, cron] of crons.entries()) {
        const wrong = !parseCron(cron) ? 'must be a cron expression' : crons.indexOf(cron) < at && 'is given twice'
        if (wrong !== false) throw new ApiError('badSchedules', `/${at}/cron`, wrong)
      }
      return await edits.run(scope.id, async () => {
        scriptOf(deps, scope, id)
        const before = store.get(SCRIPT_SCHEDULES, scope, id)
        const known = new Map(before?.value.schedules.map((schedule) => [schedule.cron, schedule]))
        const now = new Date(clock.now()).toISOString()
        const after = {
          schedules: crons.map((cron) => known.get(cron) ?? { cron, created_on: now, modified_on: now }),
        }
        const change = { action: 'update', kind: SCRIPT_SCHEDULES, scope, id, before: before?.value, after } as const
        await store.batch(...audited(clock, call, { ...change, ifVersion: before?.version }))
        return after
      })
    },
  }),
  rows.post('/workers/scripts/:script_name/edged/scheduled', {
    summary: 'Run the scheduled handler of a Worker now, as if a schedule of it were due',
    body: RunNow,
    result: Ran,
    async handle({ deps, store, clock }, { scope, params: { script_name: id }, body: { cron } }) {
      const { value: script } = scriptOf(deps, scope, id)
      const schedules = store.get(SCRIPT_SCHEDULES, scope, id)?.value.schedules ?? []
      if (!schedules.some((one) => one.cron === cron))
        throw new ApiError('badSchedules', '/cron', 'is not a schedule of this Worker')
      const { runtime } = deps.workers()
      const failure = runtime ? runtime.failure(scope, script.name) : 'this server does not run scripts'
      if (!runtime || failure !== undefined) return { success: false, message: failure ?? '' }
      try {
        await runtime.call(scope, script.name, 'scheduled', { cron, scheduledTime: clock.now() })
        return { success: true, message: '' }
      } catch (error) {
        return { success: false, message: messageOf(error) }
      }
    },
  }),
])
