import { Type } from 'typebox'
import { ONLY, WORKERS_ACCOUNT_SETTINGS } from '../../src/core/model/worker-routing.js'
import { strict } from '../../src/core/schema.js'
import { auditOf } from '../resources/audit.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, withoutEffect } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'

const PATH = '/workers/account-settings'
const DEFAULTS = { default_usage_model: 'standard', green_compute: false }

const Settings = Type.Object({ default_usage_model: Type.String(), green_compute: Type.Boolean() })
const Change = Type.Object(
  {
    default_usage_model: Type.Optional(Type.Enum(['standard', 'bundled', 'unbound'])),
    green_compute: Type.Optional(Type.Boolean()),
  },
  strict,
)

const rows = area<WorkersDeps>({ scopes, access: ACCESS.workers })

/** Settings of all Workers of an account; stored and returned, without effect. */
export const accountSettings = rows.endpoints([
  rows.get(PATH, {
    summary: 'Read the settings of the Workers of an account',
    result: Settings,
    handle: ({ store }, { scope }) => store.get(WORKERS_ACCOUNT_SETTINGS, scope, ONLY)?.value ?? DEFAULTS,
  }),
  rows.put(PATH, {
    summary: 'Change the settings of the Workers of an account',
    body: Change,
    result: Settings,
    async handle({ store, clock }, call) {
      const { scope, body } = call
      const stored = await store.change(
        WORKERS_ACCOUNT_SETTINGS,
        scope,
        ONLY,
        (old) => ({ ...(old ?? DEFAULTS), ...body }),
        auditOf(clock, call, { action: 'update', kind: WORKERS_ACCOUNT_SETTINGS, scope, id: ONLY }),
      )
      const inert = Object.keys(body).map((name) => `/${name}`)
      return new ApiResponse(stored?.value ?? DEFAULTS, { messages: withoutEffect(inert) })
    },
  }),
])
