import { Type, type Static } from 'typebox'
import { WORKER_DATA_HOMES, WORKER_DATA_ID, WORKER_DATA_LEASES } from '../../src/core/model/worker-data.js'
import { DATA_PLACES } from '../../src/workers/runtime/data-homes.js'
import { ACCESS } from '../http/permissions.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { audited } from '../resources/audit.js'
import type { WorkersDeps } from './services/index.js'

const PATH = '/edged/worker-data'

const Shown = Type.Object({
  place: Type.Enum([...DATA_PLACES], {
    description:
      'none: no machine has data yet. here: on this machine. elsewhere: on another one, which responds. unreachable: the other one does not respond to this machine. away: nor does it renew its lease.',
  }),
  machine: Type.Union([Type.String(), Type.Null()], { description: 'The machine that ran the data last.' }),
})

const NONE: Static<typeof Shown> = { place: 'none', machine: null }

const rows = area<WorkersDeps>({ scopes, access: ACCESS.workers })

/** Which machine has the Durable Objects and D1 databases of an account. */
export const dataHome = rows.endpoints([
  rows.get(PATH, {
    summary: 'Read which machine has the Durable Objects and D1 databases of an account',
    result: Shown,
    async handle({ workers }, { scope }) {
      return (await workers().runtime?.place(scope)) ?? NONE
    },
  }),
  rows.delete(PATH, {
    summary:
      'Give up the Durable Objects and D1 databases of an account whose machine is lost. The machine that needs them next begins with empty ones; those of the lost machine are never used again',
    result: Shown,
    async handle({ store, clock, workers }, call) {
      const { scope } = call
      const found = await workers().runtime?.place(scope)
      const home = store.get(WORKER_DATA_HOMES, scope, WORKER_DATA_ID)
      if (found && found.place !== 'none') {
        if (found.place !== 'away' || !home) throw new ApiError('dataNotLost')
        const lease = { kind: WORKER_DATA_LEASES, scope, id: WORKER_DATA_ID, value: undefined }
        const { value: before, version: ifVersion } = home
        const change = { kind: WORKER_DATA_HOMES, scope, id: WORKER_DATA_ID, before, ifVersion }
        await store.batch(...audited(clock, call, change, [lease]))
      }
      return NONE
    },
  }),
])
