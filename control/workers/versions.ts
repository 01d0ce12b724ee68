import { Type } from 'typebox'
import { WORKER_VERSIONS } from '../../src/core/model/worker.js'
import { Reconciliation } from '../../src/workers/durable/reconciliation.js'
import { mapOf } from '../../src/core/schema.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, withoutEffect } from '../http/endpoint.js'
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

const rows = area({ scopes, access: ACCESS.workers, refusal: 'invalidScript' }, (deps: WorkersDeps) => {
  const { store } = deps
  const uploadService = new UploadService(deps)
  return { store, uploadService, deps }
})

/** Versions of a script. */
export const versions = rows.endpoints([
  rows.post(PATH, {
    summary: 'Upload a version of a script without deploying it, completely or not at all',
    query: UploadQuery,
    ignoredQuery: UPLOAD_IGNORED,
    raw: { types: ['multipart/form-data'], schema: UploadForm },
    result: Version,
    async handle({ store, uploadService }, call) {
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
  }),
  rows.get(PATH, {
    summary: 'List the versions of a script, newest first',
    query: Type.Object({
      ...paging({ max: 100 }),
      deployable: Type.Boolean({ default: false, description: 'Only those that can be deployed.' }),
    }),
    result: Type.Object({ items: Type.Array(Type.Object({})) }),
    top: Type.Object({ result_info: Type.Object({}) }),
    handle({ deps, store }, { scope, params, query: { page, per_page, deployable } }) {
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
  }),
  rows.get(`${PATH}/:version_id`, {
    summary: 'Read a version of a script',
    result: Version,
    handle({ deps, store }, { scope, params }) {
      const { value: script } = scriptOf(deps, scope, params.script_name)
      const version = deps.workers().repository.readVersion(scope, script, params.version_id)
      if (!version) throw new ApiError('scriptVersionNotFound')
      return versionResponse(store, scope, version, script)
    },
  }),
])
