import { Type } from 'typebox'
import { Reconciliation } from '../../src/workers/durable/reconciliation.js'
import { PART_TYPES } from '../../src/workers/upload/form.js'
import { Metadata } from '../../src/workers/metadata/schema.js'
import { scriptResult } from '../../src/workers/script-summary.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, withoutEffect } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { runsNow } from './services/running.js'
import { lostEntrypoints, missingConsumers, missingTargets } from './services/target-warnings.js'
import { ScriptResult } from './schemas.js'
import { UploadService } from './services/upload-service.js'

/** For the manual. */
export const UploadForm = Type.Object(
  { metadata: Metadata, files: Type.Optional(Type.Array(Type.String({ format: 'binary' }))) },
  { description: `Modules are further parts, named by their file names. Content types: ${PART_TYPES.join(', ')}.` },
)

export const UploadQuery = Type.Object({
  bindings_inherit: Type.Optional(
    Type.Literal('strict', {
      description: 'Refuses inherit bindings that find nothing, in place of leaving them out.',
    }),
  ),
})

/** Parameters of uploads that official clients send. They select members of the response. */
export const UPLOAD_IGNORED = ['available_subdomain', 'excludeScript', 'include_subdomain_availability'] as const

const rows = area({ scopes, access: ACCESS.workers, refusal: 'invalidScript' }, (deps: WorkersDeps) => {
  const uploadService = new UploadService(deps)
  return { deps, uploadService }
})

/** Uploads of scripts. */
export const upload = rows.endpoints([
  rows.put('/workers/scripts/:script_name', {
    summary: 'Upload a script and deploy it, completely or not at all. Pointers of errors are relative to the metadata',
    query: UploadQuery,
    ignoredQuery: UPLOAD_IGNORED,
    raw: { types: ['multipart/form-data'], schema: UploadForm },
    result: Type.Object({
      ...ScriptResult.properties,
      startup_time_ms: Type.Number(),
      deployment_id: Type.String(),
      exports_reconciliation: Type.Optional(Reconciliation),
    }),
    async handle({ deps, uploadService }, call) {
      const strict = call.query.bindings_inherit === 'strict'
      const { script, version, reconciliation, warnings, inert } = await uploadService.take(call, {
        deployed: true,
        strict,
      })
      const result = {
        ...scriptResult(script, version),
        // Clients print it as the UUID of the version.
        deployment_id: version.id.replaceAll('-', ''),
        pipeline_hash: version.etag,
        mutable_pipeline_id: null,
        ...(reconciliation && { exports_reconciliation: reconciliation }),
      }
      const messages = [
        ...withoutEffect(inert),
        ...warnings.map((message) => ({ code: 10900, message })),
        ...missingTargets(deps.store, call.scope, version.bindings),
        ...lostEntrypoints(deps.store, call.scope, version),
        ...missingConsumers(deps.store, call.scope, script.tail_consumers),
        ...(await runsNow(deps.workers(), call.scope, version)),
      ]
      return new ApiResponse(result as never, { messages })
    },
  }),
])
