import { Type } from 'typebox'
import { applyDeployment } from '../../src/workers/durable/apply-deployment.js'
import { reject } from '../../src/workers/upload-errors.js'
import { PART_TYPES, readDocument, uploadedFiles, type FormPart } from '../../src/workers/upload/form.js'
import { Metadata } from '../../src/workers/metadata/schema.js'
import { metadataIssues } from '../../src/workers/metadata/check.js'
import { scriptResult } from '../../src/workers/script-summary.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, type Call } from '../http/endpoint.js'
import { assertNotHostile } from '../http/json-limits.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { withForm } from './services/multipart.js'
import { partIssues } from './services/part-bindings.js'
import { codeOf, prepareCode, validated } from './services/prepared-code.js'
import { withApiErrors } from './services/api-errors.js'
import { checkConditions } from '../http/conditions.js'
import { ScriptResult } from './schemas.js'
import { runsNow } from './services/running.js'
import { saveNextVersion } from './services/next-version.js'

const { main_module, body_part } = Metadata.properties
const Form = Type.Object(
  {
    metadata: Type.Optional(Type.Object({ main_module, body_part })),
    files: Type.Optional(Type.Array(Type.String({ format: 'binary' }))),
  },
  {
    description: `Modules are further parts, named by their file names. Content types: ${PART_TYPES.join(', ')}. The headers CF-WORKER-MAIN-MODULE-PART and CF-WORKER-BODY-PART may replace of the metadata.`,
  },
)

const rows = area({ scopes, access: ACCESS.workers, refusal: 'invalidScript' }, (deps: WorkersDeps) => {
  /** Reads the metadata of a form. Headers name the main part if the metadata does not. */
  const read = (call: Call, parts: readonly FormPart[]) => {
    const { upload, quotas } = deps.workers().limits()
    const given = readDocument(parts, { name: 'metadata', schema: Metadata, max: upload.metadata_bytes })
    const { document = {}, others } = given as { document?: object; others: readonly FormPart[] }
    assertNotHostile(document)
    reject(metadataIssues(document, { bindings: quotas.bindings, valueBytes: quotas.value_bytes }))
    const metadata = document as Metadata
    const { main_module = headerOf(call, 'cf-worker-main-module-part') } = metadata
    const { body_part = headerOf(call, 'cf-worker-body-part') } = metadata
    return {
      named: { ...(main_module !== undefined && { main_module }), ...(body_part !== undefined && { body_part }) },
      ignored: Object.keys(metadata).filter((member) => member !== 'main_module' && member !== 'body_part'),
      files: uploadedFiles(others),
    }
  }
  const save = async (call: Call<'script_name'>, parts: readonly FormPart[]) => {
    const engine = deps.workers()
    const { named, ignored, files } = read(call, parts)
    const code = await prepareCode(engine, named, files)
    const modules = await engine.repository.putModules(files)
    const saved = await saveNextVersion(deps, call, {
      name: call.params.script_name,
      deploy: true,
      annotations: { 'workers/triggered_by': 'upload' },
      async make({ before, latest, draft: old }) {
        checkConditions(call.request, latest.etag, 'scriptChanged')
        const { main: _main, ...kept } = old
        const { report } = await validated(engine.runtime, { code, bindings: old.bindings, metadata: old })
        const draft = { ...kept, ...codeOf({ ...code, report }), modules }
        reject(partIssues(draft.bindings, [], { format: code.main?.format, files }))
        const { writes } = applyDeployment(deps.store, call.scope, { before: before.value, versions: [draft] })
        return { draft, writes, more: undefined }
      },
    })
    return { ...saved, ignored }
  }
  return { deps, save }
})

/** New code for a script. Everything else in the script stays. */
export const contentUpdate = rows.endpoints([
  rows.put('/workers/scripts/:script_name/content', {
    summary: 'Replace the code of a script, and deploy it; bindings and settings stay as they are',
    raw: { types: ['multipart/form-data'], schema: Form },
    result: ScriptResult,
    async handle({ deps, save }, call) {
      const { uploads, limits } = deps.workers()
      const { bytes, parts: max } = limits().upload
      const { script, version, ignored } = await withForm(
        call.request,
        { bytes, parts: max, memory: uploads },
        async (parts) => await withApiErrors(async () => await save(call, parts)),
      )
      const messages = [
        ...ignored.map((member) => ({
          code: 10021,
          message: `${member} of the metadata has no effect here: only the code changes`,
        })),
        ...(await runsNow(deps.workers(), call.scope, version)),
      ]
      return new ApiResponse(scriptResult(script, version) as never, { messages })
    },
  }),
])

function headerOf({ request }: Call, name: string): string | undefined {
  const value = request.headers[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}
