import type { IncomingMessage } from 'node:http'
import { Type } from 'typebox'
import { strict } from '../../src/core/schema.js'
import { account } from '../../src/core/scope.js'
import { MemoryBudget } from '../../src/core/memory/memory-budget.js'
import { AnnouncedFiles } from '../../src/workers/assets/manifest.js'
import { BadFile, BadToken, BUCKET_BYTES } from '../../src/workers/assets/uploads.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { withAssetForm } from './services/asset-form.js'
import type { WorkersDeps } from './services/index.js'

const Session = Type.Object({
  jwt: Type.String({
    description: 'For the uploads; where buckets are empty, for the upload of the script. Good for an hour.',
  }),
  buckets: Type.Array(Type.Array(Type.String()), { description: 'Hashes of files that are missing, by request.' }),
})

const Uploaded = Type.Object({
  jwt: Type.Optional(Type.String({ description: 'For the upload of the script, with the last of the files.' })),
})

const UploadQuery = Type.Object(
  { base64: Type.Optional(Type.Boolean({ description: 'The contents of the parts are base64.' })) },
  strict,
)

const SCRIPT_NAME = /^[a-z0-9_][a-z0-9_-]{0,62}$/

/** Base64 is a third longer than the bytes; heads of parts are added. */
const formBytes = (fileBytes: number): number => Math.ceil((Math.max(fileBytes, BUCKET_BYTES) * 4) / 3) + 1024 * 1024

const rows = area({ scopes, access: ACCESS.workers, refusal: 'badAssets' }, ({ workers }: WorkersDeps) => {
  const memory = new MemoryBudget(0)
  return { workers, memory }
})

/** Static files of Workers, uploaded ahead of the script that serves them. */
export const assets = rows.endpoints([
  rows.post('/workers/scripts/:script_name/assets-upload-session', {
    summary: 'Announce the static files of a Worker; the response lists those that must be uploaded',
    body: Type.Object({ manifest: AnnouncedFiles }, strict),
    maxBytes: 10_000_000,
    result: Session,
    async handle({ workers }, { scope, params: { script_name: name }, body: { manifest } }) {
      if (!SCRIPT_NAME.test(name)) throw new ApiError('badScriptName')
      const { jwt, buckets } = await workers().assets.open(scope, name, manifest)
      return { jwt, buckets: buckets.map((hashes) => [...hashes]) }
    },
  }),
  rows.post('/workers/assets/upload', {
    refusal: 'invalid',
    permissions: [],
    // The token of the session is asked for, not one of the API.
    open: true,
    summary: 'Upload static files of a bucket, with the token of the session; 201 with the last of them',
    query: UploadQuery,
    status: 202,
    statuses: [201, 202],
    raw: { types: ['multipart/form-data'] },
    result: Uploaded,
    async handle({ workers, memory }, { params, query: { base64 = false }, request }) {
      const { account_id: id = '' } = params as Readonly<Record<string, string>>
      const engine = workers()
      const { upload, assets: limits } = engine.limits()
      memory.limit = upload.memory
      try {
        const admitted = await engine.assets.admit(account(id), bearer(request))
        const form = { base64, maxBytes: formBytes(limits.file_bytes), parts: upload.parts, memory }
        const jwt = await withAssetForm(request, form, async (files) => await admitted.take(files))
        return jwt === undefined ? {} : new ApiResponse({ jwt }, { status: 201 })
      } catch (error) {
        throw refused(error)
      }
    },
  }),
])

function bearer({ headers }: IncomingMessage): string {
  const [, token] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? []
  if (token === undefined) throw new BadToken('the token of the session is missing')
  return token
}

/** What uploads throw, in the client's terms. */
function refused(error: unknown): unknown {
  if (error instanceof BadToken) return new ApiError('badAssetToken', undefined, error.message)
  if (error instanceof BadFile) return new ApiError('badAssets', `/${error.hash}`, error.message)
  return error
}
