import { Type } from 'typebox'
import { WORKER_VERSIONS } from '../../src/core/model/worker.js'
import { Reconciliation } from '../../src/workers/durable/reconciliation.js'
import { mapOf } from '../../src/core/schema.js'
import { ACCOUNT_ONLY as scopes, endpoint, ApiResponse, type Endpoint, withoutEffect } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { paging } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { scriptOf } from './services/find.js'
import { missingTargets } from './services/target-warnings.js'
import { versionResponse } from './response-shapes.js'
import { UPLOAD_IGNORED, UploadForm, UploadQuery } from './upload.js'
import { UploadService } from './services/upload-service.js'

const PATH = '/workers/scripts/:script_name/versions'
/** How many of the newest versions can be deployed again. */
const DEPLOYABLE = 100

const Version = Type.Object({
  id: Type.String(),
  number: Type.Number(),
  annotations: mapOf(Type.String()),
  metadata: Type.Object({ created_on: Type.String(), source: Type.String(), has_preview: Type.Boolean() }),
  startup_time_ms: Type.Number(),
  resources: Type.Object({
    bindings: Type.Array(Type.Object({})),
    script: Type.Object({ etag: Type.String(), handlers: Type.Array(Type.String()) }),
    script_runtime: Type.Object({}),
  }),
  exports_reconciliation: Type.Optional(Reconciliation),
})

/** Versions of a script. */
export function versions(deps: WorkersDeps): Endpoint[] {
  const context = contextOf(deps)
  return [createVersion(context), listScriptVersions(context), readScriptVersion(context)]
}

type Context = ReturnType<typeof contextOf>

/** Returns the dependencies that these endpoints share. */
function contextOf(deps: WorkersDeps) {
  const { store } = deps
  const uploadService = new UploadService(deps)
  return { store, uploadService, deps }
}

function createVersion({ store, uploadService }: Context): Endpoint {
  return endpoint({
    method: 'post',
    path: PATH,
    scopes,
    permissions: ACCESS.workers.write,
    summary: 'Upload a version of a script without deploying it, completely or not at all',
    refusal: 'invalidScript',
    query: UploadQuery,
    ignoredQuery: UPLOAD_IGNORED,
    raw: { types: ['multipart/form-data'], schema: UploadForm },
    result: Version,
    async handle(call) {
      const strict = call.query.bindings_inherit === 'strict'
      const { script, version, reconciliation, warnings, inert } = await uploadService.take(call, {
        deployed: false,
        strict,
      })
      const result = {
        ...versionResponse(store, call.scope, version, script),
        ...(reconciliation && { exports_reconciliation: reconciliation }),
      }
      return new ApiResponse(result, {
        messages: [
          ...withoutEffect(inert),
          ...warnings.map((message) => ({ code: 10900, message })),
          ...missingTargets(store, call.scope, version.bindings),
        ],
      })
    },
  })
}

function listScriptVersions({ deps, store }: Context): Endpoint {
  return endpoint({
    method: 'get',
    path: PATH,
    scopes,
    permissions: ACCESS.workers.read,
    summary: 'List the versions of a script, newest first',
    query: Type.Object({
      ...paging({ max: 100 }),
      deployable: Type.Boolean({ default: false, description: 'Only those that can be deployed.' }),
    }),
    result: Type.Object({ items: Type.Array(Type.Object({})) }),
    top: Type.Object({ result_info: Type.Object({}) }),
    handle({ scope, params, query: { page, per_page, deployable } }) {
      const { value: script } = scriptOf(deps, scope, params.script_name)
      const ids = deployable ? script.versions.slice(0, DEPLOYABLE) : script.versions
      const items = ids
        .slice((page - 1) * per_page, page * per_page)
        .flatMap((id) => store.get(WORKER_VERSIONS, scope, id)?.value ?? [])
        .map((version) => versionResponse(store, scope, version, script))
      const total_count = ids.length
      const total_pages = Math.ceil(total_count / per_page)
      const result_info = { page, per_page, count: items.length, total_count, total_pages }
      return new ApiResponse({ items }, { result_info })
    },
  })
}

function readScriptVersion({ deps, store }: Context): Endpoint {
  return endpoint({
    method: 'get',
    path: `${PATH}/:version_id`,
    scopes,
    permissions: ACCESS.workers.read,
    summary: 'Read a version of a script',
    result: Version,
    handle({ scope, params }) {
      const { value: script } = scriptOf(deps, scope, params.script_name)
      const version = deps.workers().repository.readVersion(scope, script, params.version_id)
      if (!version) throw new ApiError('scriptVersionNotFound')
      return versionResponse(store, scope, version, script)
    },
  })
}
