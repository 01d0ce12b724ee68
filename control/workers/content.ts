import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import type { Scope } from '../../src/core/scope.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, FileResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { scriptOf } from './services/find.js'

const PATH = '/workers/scripts/:script_name'

const rows = area({ scopes, access: ACCESS.workers }, (deps: WorkersDeps) => {
  const file = async (scope: Scope, name: string, which?: string): Promise<FileResponse> => {
    const { repository } = deps.workers()
    const { value: script } = scriptOf(deps, scope, name)
    const version =
      which === undefined
        ? (repository.readVersion(scope, script, 'deployed') ?? repository.readVersion(scope, script, 'latest'))
        : repository.readVersion(scope, script, which)
    if (!version) throw new ApiError('scriptVersionNotFound')
    const { modules, main, etag, format } = version
    const [only] = modules
    if (!only) return new FileResponse('application/javascript', '', { etag: `"${etag}"` })
    if (modules.length === 1 && format === 'service-worker')
      return new FileResponse('application/javascript', await repository.readModule(only), { etag: `"${etag}"` })
    // Follows from the content, which cannot hold its own hash.
    const boundary = createHash('sha256').update(`${version.id} ${etag}`).digest('hex')
    const pieces: Buffer[] = []
    for (const module of modules) {
      const { name, type } = module
      // Only bindings of service workers mean parts by names of their own; modules go by those that they import each other by.
      const field = format === 'service-worker' ? (module.part ?? name) : name
      const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(field)}"; filename="${quoted(name)}"\r\nContent-Type: ${type}\r\n\r\n`
      pieces.push(Buffer.from(head), await repository.readModule(module), Buffer.from('\r\n'))
    }
    pieces.push(Buffer.from(`--${boundary}--\r\n`))
    const headers = { etag: `"${etag}"`, ...(main !== undefined && { 'cf-entrypoint': encodeURI(main) }) }
    return new FileResponse(`multipart/form-data; boundary=${boundary}`, Buffer.concat(pieces), headers)
  }
  return { file }
})

/** The code of scripts, as it was uploaded. */
export const content = rows.endpoints([
  rows.get(PATH, {
    summary: 'Read the code of a script: as it is, or its modules as a form',
    file: 'multipart/form-data',
    handle: async ({ file }, { scope, params }) => await file(scope, params.script_name),
  }),
  rows.get(`${PATH}/content/v2`, {
    summary: 'Read the code of a version; the header cf-entrypoint names its main module',
    query: Type.Object({ version: Type.Optional(Type.String({ description: 'Default: the deployed one.' })) }),
    file: 'multipart/form-data',
    handle: async ({ file }, { scope, params, query }) => await file(scope, params.script_name, query.version),
  }),
])

/** As browsers write names in forms (WHATWG, multipart/form-data encoding algorithm). */
const quoted = (name: string): string => name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
