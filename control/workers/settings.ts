import { Type } from 'typebox'
import { WORKER_SCRIPTS, type StoredScript } from '../../src/core/model/worker.js'
import { orNull, strict } from '../../src/core/schema.js'
import { Observability } from '../../src/workers/metadata/observability.js'
import { audited } from '../resources/audit.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, withoutEffect } from '../http/endpoint.js'
import { inertMembers } from '../../src/workers/runtime/inert.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { scriptOf } from './services/find.js'
import { stopped } from './services/running.js'
import { missingConsumers } from './services/target-warnings.js'

const PATH = '/workers/scripts/:script_name'

const Change = Type.Object(
  {
    logpush: Type.Optional(Type.Boolean()),
    observability: Type.Optional(orNull(Observability)),
    tags: Type.Optional(
      orNull(Type.Array(Type.String({ minLength: 1, maxLength: 1024, pattern: '^[^,]+$' }), { maxItems: 100 })),
    ),
    tail_consumers: Type.Optional(
      orNull(
        Type.Array(
          Type.Object(
            {
              service: Type.String({ minLength: 1 }),
              environment: Type.Optional(Type.String()),
              namespace: Type.Optional(Type.String()),
            },
            strict,
          ),
          { maxItems: 100 },
        ),
      ),
    ),
  },
  strict,
)

const rows = area({ scopes, access: ACCESS.workers, refusal: 'badSettings' }, (deps: WorkersDeps) => {
  const { store, clock, edits } = deps
  return { deps, store, clock, edits }
})

/** Settings of scripts that all of their versions share. */
export const scriptSettings = rows.endpoints([
  rows.get(`${PATH}/script-settings`, {
    summary: 'Read the settings of a script that all of its versions share',
    result: Type.Object({}),
    handle({ deps }, { scope, params }) {
      const { value: script } = scriptOf(deps, scope, params.script_name)
      return new ApiResponse(ownSettings(script), { messages: stopped(deps.workers(), scope, script.name) })
    },
  }),
  rows.patch(`${PATH}/script-settings`, {
    summary: 'Change the settings of a script that all of its versions share',
    body: Change,
    maxBytes: 1_000_000,
    result: Type.Object({}),
    async handle({ deps, store, clock, edits }, call) {
      const { scope, params, body } = call
      return await edits.run(scope.id, async () => {
        const { value: before, version } = scriptOf(deps, scope, params.script_name)
        const { observability = before.observability, logpush = before.logpush } = body
        const { observability: _replaced, ...rest } = before
        const after: StoredScript = {
          ...rest,
          logpush,
          ...(body.tags !== undefined && { tags: body.tags ?? [] }),
          ...(body.tail_consumers !== undefined && { tail_consumers: body.tail_consumers ?? [] }),
          ...(observability && { observability }),
          modified_on: new Date(clock.now()).toISOString(),
        }
        const id = before.name
        await store.batch(
          ...audited(clock, call, { kind: WORKER_SCRIPTS, scope, id, before, after, ifVersion: version }),
        )
        const messages = [
          ...withoutEffect(inertMembers(body)),
          ...missingConsumers(store, scope, body.tail_consumers ?? []),
        ]
        return new ApiResponse(ownSettings(after), { messages })
      })
    },
  }),
])

/** Settings of a script alone. */
export const ownSettings = ({ logpush, tags, tail_consumers, observability }: StoredScript) => ({
  logpush,
  tags,
  tail_consumers,
  observability: observability ?? null,
})
