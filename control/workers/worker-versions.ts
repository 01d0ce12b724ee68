import { Type, type Static } from 'typebox'
import { WORKER_SCRIPTS, WORKER_VERSIONS, type StoredScript, type StoredVersion } from '../../src/core/model/worker.js'
import { mapOf, orNull, pointerToken, strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'
import { Reconciliation } from '../../src/workers/durable/reconciliation.js'
import type { UploadForm } from '../../src/workers/upload/form.js'
import { keptAnnotations } from '../../src/workers/metadata/check.js'
import { inertMembers } from '../../src/workers/runtime/inert.js'
import { Metadata } from '../../src/workers/metadata/schema.js'
import { liveExports } from '../../src/workers/script-summary.js'
import { audited } from '../resources/audit.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, withoutEffect } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import { saveBindings } from './services/binding-changes.js'
import type { WorkersDeps } from './services/index.js'
import { workerOf } from './services/find.js'
import { runsNow } from './services/running.js'
import { missingTargets } from './services/target-warnings.js'
import { JsonModule, uploadOf } from './services/json-modules.js'
import { withApiErrors } from './services/api-errors.js'
import { MERGE_PATCH } from './services/request.js'
import { shownBindings, versionResponse } from './response-shapes.js'
import { UploadService } from './services/upload-service.js'

const PATH = '/workers/workers/:worker_id/versions'

const NewVersion = Type.Object(
  {
    ...Type.Pick(Metadata, [
      'annotations',
      'assets',
      'bindings',
      'cache_options',
      'compatibility_date',
      'compatibility_flags',
      'containers',
      'exports',
      'limits',
      'main_module',
      'migrations',
      'package_dependencies',
      'placement',
      'usage_model',
    ]).properties,
    modules: Type.Optional(Type.Array(JsonModule, { maxItems: 2000 })),
  },
  strict,
)
const LatestChange = Type.Object(
  {
    env: Type.Optional(mapOf(orNull(Type.Object({ type: Type.String() })))),
    annotations: Type.Optional(mapOf(Type.String())),
  },
  strict,
)
const Version = Type.Object({
  id: Type.String(),
  number: Type.Integer(),
  created_on: Type.String(),
  source: Type.String(),
  urls: Type.Array(Type.String(), { description: 'Empty: versions have no addresses of their own.' }),
  bindings: Type.Array(Type.Object({})),
  modules: Type.Optional(Type.Array(JsonModule)),
  exports_reconciliation: Type.Optional(Reconciliation),
})

const rows = area({ scopes, access: ACCESS.workers, refusal: 'invalidScript' }, (deps: WorkersDeps) => {
  const { store, clock, edits } = deps
  const uploadService = new UploadService(deps)
  const versionOf = (scope: Scope, which: string, id: string): { script: StoredScript; version: StoredVersion } => {
    const { value: script } = workerOf(deps, scope, which)
    const version = deps.workers().repository.readVersion(scope, script, id)
    if (!version) throw new ApiError('scriptVersionNotFound')
    return { script, version }
  }
  return { deps, store, uploadService, versionOf, clock, edits }
})

/** Versions of Workers as JSON. */
export const workerVersions = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the versions of a Worker, newest first',
    query: Type.Object(paging({ max: 100 })),
    result: Type.Array(Version),
    handle({ deps, store }, { scope, params, query }) {
      const { value: script } = workerOf(deps, scope, params.worker_id)
      const found = script.versions.flatMap((id) => store.get(WORKER_VERSIONS, scope, id)?.value ?? [])
      return page(found, query, (version) => shown(store, scope, version))
    },
  }),
  rows.post(PATH, {
    summary: 'Create a version of a Worker, completely or not at all',
    query: Type.Object({
      deploy: Type.Boolean({ default: false, description: 'It serves all requests from then on.' }),
    }),
    body: NewVersion,
    maxBytes: 10_000_000,
    result: Version,
    async handle({ deps, store, uploadService }, call) {
      const { scope, params, body, query } = call
      const { name } = workerOf(deps, scope, params.worker_id).value
      const options = { deployed: query.deploy, strict: true, settingsStay: true }
      const { version, reconciliation, warnings, inert } = await withApiErrors(async () => {
        const upload = uploadOf(body)
        return await whileHeld(deps, upload, async () => await uploadService.keep(call, name, upload, options))
      })
      const result = {
        ...shown(store, scope, version),
        ...(reconciliation && { exports_reconciliation: reconciliation }),
      }
      return new ApiResponse(result, {
        messages: [
          ...withoutEffect(inert),
          ...warnings.map((message) => ({ code: 10900, message })),
          ...missingTargets(store, scope, version.bindings),
          ...(query.deploy ? await runsNow(deps.workers(), scope, version) : []),
        ],
      })
    },
  }),
  rows.get(`${PATH}/:version_id`, {
    summary: 'Read a version of a Worker',
    query: Type.Object({
      include: Type.Optional(Type.Literal('modules', { description: 'Its code as well, in base64.' })),
    }),
    result: Version,
    async handle({ deps, store, versionOf }, { scope, params, query }) {
      const { version } = versionOf(scope, params.worker_id, params.version_id)
      if (query.include === undefined) return shown(store, scope, version)
      const modules: Static<typeof JsonModule>[] = []
      for (const module of version.modules) {
        const bytes = await deps.workers().repository.readModule(module)
        modules.push({ name: module.name, content_type: module.type, content_base64: bytes.toString('base64') })
      }
      return { ...shown(store, scope, version), modules }
    },
  }),
  rows.delete(`${PATH}/:version_id`, {
    summary: 'Delete a version of a Worker that serves no requests',
    bare: true,
    async handle({ deps, store, clock, edits }, call) {
      const { scope, params } = call
      await edits.run(scope.id, async () => {
        const { value: before, version } = workerOf(deps, scope, params.worker_id)
        const id = params.version_id
        if (!before.versions.includes(id)) throw new ApiError('scriptVersionNotFound')
        const inForce = deps.workers().repository.readDeployment(scope, before)?.versions ?? []
        if (inForce.some(({ version_id }) => version_id === id)) throw new ApiError('versionInUse')
        const after = { ...before, versions: before.versions.filter((one) => one !== id) }
        await store.batch(
          ...audited(clock, call, { kind: WORKER_SCRIPTS, scope, id: before.name, before, after, ifVersion: version }, [
            { kind: WORKER_VERSIONS, scope, id, value: undefined },
          ]),
        )
      })
    },
  }),
  rows.patch(`${PATH}/latest`, {
    summary: 'Make a version from the latest one with other bindings; it is not deployed',
    body: LatestChange,
    maxBytes: 1_000_000,
    jsonAs: MERGE_PATCH,
    result: Type.Object({}),
    refusal: 'badSecret',
    async handle({ deps, store }, call) {
      const { env = {}, annotations = {} } = call.body
      const changes = new Map(Object.entries(env).map(([name, binding]) => [name, binding && { ...binding, name }]))
      const { value: script } = workerOf(deps, call.scope, call.params.worker_id)
      const version = await saveBindings(deps, call, script.name, {
        changes,
        pointer: (name) => `/env/${pointerToken(name)}`,
        deploy: false,
        annotations: keptAnnotations(annotations),
      })
      return new ApiResponse(versionResponse(store, call.scope, version, script), {
        messages: withoutEffect(inertChanges(env)),
      })
    },
  }),
])

/** Returns pointers to the bindings that have no effect here, and to such members of bindings. */
const inertChanges = (env: NonNullable<Static<typeof LatestChange>['env']>): string[] =>
  Object.entries(env).flatMap(([name, binding]) =>
    inertMembers({ bindings: binding ? [binding] : [] }).map((pointer) =>
      pointer.replace('/bindings/0', () => `/env/${pointerToken(name)}`),
    ),
  )

/** Runs `work` while the files of an upload count as an upload in progress. Throws `uploadsBusy`. */
async function whileHeld<T>({ workers }: WorkersDeps, { files }: UploadForm, work: () => Promise<T>): Promise<T> {
  const { uploads } = workers()
  const size = files.reduce((sum, { bytes }) => sum + bytes.length, 0)
  if (!uploads.take(size)) throw new ApiError('uploadsBusy', undefined, { headers: { 'retry-after': '5' } })
  try {
    return await work()
  } finally {
    uploads.give(size)
  }
}

/** A version with all that it is made of, but its code and its secrets. */
function shown(store: Store, scope: Scope, version: StoredVersion): Static<typeof Version> {
  const { id, number, created_on, source, author, annotations, assets, bindings, exports, main, metadata } = version
  const { compatibility_date, cache_options, limits, placement, migration_tag } = version
  const { containers, package_dependencies } = metadata
  const more = {
    annotations,
    author_id: author.id,
    compatibility_flags: version.compatibility_flags,
    startup_time_ms: version.startup_time_ms,
    usage_model: version.usage_model,
    ...(assets && { assets: { config: assets.config } }),
    ...(author.email !== undefined && { author_email: author.email }),
    ...(cache_options && { cache_options }),
    ...(compatibility_date !== undefined && { compatibility_date }),
    ...(containers !== undefined && { containers }),
    ...(exports && { exports: liveExports(exports) }),
    ...(limits && { limits }),
    ...(main !== undefined && { main_module: main }),
    ...(migration_tag !== undefined && { migration_tag }),
    ...(package_dependencies !== undefined && { package_dependencies }),
    ...(placement && { placement }),
  }
  return {
    id,
    number,
    created_on,
    source,
    urls: [],
    bindings: shownBindings(store, scope, version.script, bindings),
    ...more,
  }
}
