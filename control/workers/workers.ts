import { Type } from 'typebox'
import { SCRIPT_SUBDOMAINS } from '../../src/core/model/worker-routing.js'
import { WORKER_SCRIPTS, type StoredScript } from '../../src/core/model/worker.js'
import type { Scope } from '../../src/core/scope.js'
import type { Stored, Write } from '../../src/core/store.js'
import { inertMembers } from '../../src/workers/runtime/inert.js'
import { newScript } from '../../src/workers/script-repository.js'
import { audited } from '../resources/audit.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, type Call, withoutEffect } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { assertScriptQuota, workerOf } from './services/find.js'
import { missingConsumers } from './services/target-warnings.js'
import { Force, removeScript } from './services/removal.js'
import { MERGE_PATCH, scriptName } from './services/request.js'
import { OFF, scriptSubdomain } from './subdomains.js'
import { NewWorker, workerResponse, Worker, WorkerChange } from './worker-schemas.js'

const PATH = '/workers/workers'
const ONE = `${PATH}/:worker_id`

const rows = area({ scopes, access: ACCESS.workers, refusal: 'badWorker' }, (deps: WorkersDeps) => {
  const { store, clock, edits } = deps
  /** Stores a Worker with its settings; `before` undefined: there must be none. */
  const save = async (
    call: Call,
    before: Stored<StoredScript> | undefined,
    base: StoredScript,
    change: WorkerChange,
  ) => {
    const { scope } = call
    const after = changed(base, change, new Date(clock.now()).toISOString())
    const id = after.name
    await store.batch(
      ...audited(
        clock,
        call,
        { kind: WORKER_SCRIPTS, scope, id, before: before?.value, after, ifVersion: before?.version },
        subdomainOf(scope, id, change),
      ),
    )
    const { observability = {} } = change
    const messages = [
      ...withoutEffect(inertMembers({ observability })),
      ...missingConsumers(store, scope, after.tail_consumers),
    ]
    return new ApiResponse(workerResponse(deps, scope, after), { messages })
  }
  const subdomainOf = (scope: Scope, id: string, { subdomain }: WorkerChange): Write[] => {
    if (!subdomain) return []
    const before = store.get(SCRIPT_SUBDOMAINS, scope, id)
    const value = { ...scriptSubdomain(store, scope, id), ...subdomain }
    return [{ kind: SCRIPT_SUBDOMAINS, scope, id, value, ifVersion: before?.version ?? 0 }]
  }
  const update = async (call: Call<'worker_id', WorkerChange>, base: (before: StoredScript) => StoredScript) => {
    const { scope, params, body } = call
    return await edits.run(scope.id, async () => {
      const before = workerOf(deps, scope, params.worker_id)
      if (body.name !== undefined && body.name !== before.value.name)
        throw new ApiError('badWorker', '/name', 'a Worker keeps the name that it has')
      return await save(call, before, base(before.value), body)
    })
  }
  return { deps, store, clock, edits, save, update }
})

/** Workers: scripts that can be there before their first version is. */
export const workersAsSuch = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the Workers of an account',
    query: Type.Object(paging({ max: 100 })),
    result: Type.Array(Worker),
    handle: ({ deps, store }, { scope, query }) =>
      page(store.list(WORKER_SCRIPTS, scope), query, ({ value }) => workerResponse(deps, scope, value)),
  }),
  rows.post(PATH, {
    summary: 'Make a Worker that has no version yet',
    body: NewWorker,
    maxBytes: 1_000_000,
    result: Worker,
    async handle({ deps, store, clock, edits, save }, call) {
      const { scope, body } = call
      const name = scriptName(body.name, '/name')
      return await edits.run(scope.id, async () => {
        if (store.get(WORKER_SCRIPTS, scope, name)) throw new ApiError('workerExists', '/name')
        assertScriptQuota(deps, scope)
        return await save(call, undefined, newScript(name, new Date(clock.now()).toISOString()), body)
      })
    },
  }),
  rows.get(ONE, {
    summary: 'Read a Worker, by its name or id',
    result: Worker,
    handle: ({ deps }, { scope, params }) => workerResponse(deps, scope, workerOf(deps, scope, params.worker_id).value),
  }),
  rows.put(ONE, {
    summary: 'Replace the settings of a Worker; what is left out gets its default',
    body: NewWorker,
    maxBytes: 1_000_000,
    result: Worker,
    handle: async ({ update }, call) =>
      await update(
        { ...call, body: { ...call.body, subdomain: { ...OFF, ...call.body.subdomain } } },
        ({ observability: _gone, ...before }) => ({ ...before, logpush: false, tags: [], tail_consumers: [] }),
      ),
  }),
  rows.patch(ONE, {
    summary: 'Change settings of a Worker; what is left out stays, also within observability and subdomain',
    body: WorkerChange,
    maxBytes: 1_000_000,
    jsonAs: MERGE_PATCH,
    result: Worker,
    handle: async ({ update }, call) => await update(call, (before) => before),
  }),
  rows.delete(ONE, {
    summary: 'Delete a Worker with all that belongs to it, by its name or id',
    query: Force,
    bare: true,
    handle: async ({ deps }, call) =>
      void (await removeScript(deps, call, workerOf(deps, call.scope, call.params.worker_id).value.name)),
  }),
])

function changed(base: StoredScript, change: WorkerChange, modified_on: string): StoredScript {
  const { logpush = base.logpush, tags = base.tags, tail_consumers, observability } = change
  return {
    ...base,
    modified_on,
    logpush,
    tags,
    ...(tail_consumers && { tail_consumers: tail_consumers.map(({ name }) => ({ service: name })) }),
    ...(observability && { observability: { ...base.observability, ...observability } }),
  }
}
