import { Type } from 'typebox'
import type { Binding } from '../../src/core/model/worker.js'
import { mapOf, orNull, pointerToken, strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { isSecret, bindingResponse } from '../../src/workers/secrets.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import { saveBindings } from './services/binding-changes.js'
import type { WorkersDeps } from './services/index.js'
import { scriptOf } from './services/find.js'
import { MERGE_PATCH } from './services/request.js'

const PATH = '/workers/scripts/:script_name/secrets'
const Shown = Type.Object({ name: Type.String(), type: Type.Enum(['secret_text', 'secret_key']) })
const anyValue = Type.Optional(Type.Unknown())
/** Members of a secret. Its type decides which members it needs. This is checked as in an upload. */
const members = {
  type: Type.Enum(['secret_text', 'secret_key']),
  text: anyValue,
  algorithm: anyValue,
  format: anyValue,
  usages: anyValue,
  key_base64: anyValue,
  key_jwk: anyValue,
}
const Secret = Type.Object({ name: Type.String({ minLength: 1 }), ...members }, strict)
const ChangedSecret = Type.Object({ name: Type.Optional(Type.String()), ...members }, strict)
const Changes = Type.Object(
  {
    secrets: Type.Optional(
      mapOf(orNull(ChangedSecret), {
        description: 'By name; null removes one. Others stay, and so do bindings that are not secrets.',
      }),
    ),
    version_tags: Type.Optional(Type.Object({}, { description: 'Ignored.' })),
  },
  strict,
)

const rows = area({ scopes, access: ACCESS.workers, refusal: 'badSecret' }, (deps: WorkersDeps) => {
  const listed = (scope: Scope, name: string): Binding[] => {
    const { value: script } = scriptOf(deps, scope, name)
    const version = deps.workers().repository.readVersion(scope, script, 'latest')
    return (version?.bindings ?? []).filter(isSecret).map(bindingResponse)
  }
  const bySecret = { secretsOnly: true, deploy: true, annotations: { 'workers/triggered_by': 'secret' } }
  return { listed, deps, bySecret }
})

/** Secrets of scripts. Each change creates a version that is otherwise unchanged. */
export const secrets = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the names of the secrets of a script',
    result: Type.Array(Shown),
    handle: ({ listed }, { scope, params }) => whole(listed(scope, params.script_name) as never[]),
  }),
  rows.put(PATH, {
    summary: 'Store a secret; the script runs with it immediately',
    body: Secret,
    maxBytes: 1_000_000,
    result: Shown,
    async handle({ deps, bySecret }, call) {
      const binding = call.body as Binding
      const changes = new Map([[binding.name, binding]])
      await saveBindings(deps, call, call.params.script_name, { ...bySecret, changes, pointer: () => '' })
      return bindingResponse(binding) as never
    },
  }),
  rows.get(`${PATH}/:secret_name`, {
    summary: 'Tell that a script has a secret, not which',
    result: Shown,
    handle({ listed }, { scope, params }) {
      const found = listed(scope, params.script_name).find(({ name }) => name === params.secret_name)
      if (!found) throw new ApiError('secretNotFound')
      return found as never
    },
  }),
  rows.delete(`${PATH}/:secret_name`, {
    summary: 'Delete a secret',
    // Names in paths are always decoded.
    ignoredQuery: ['url_encoded'],
    result: Type.Null(),
    async handle({ deps, listed, bySecret }, call) {
      const { script_name, secret_name } = call.params
      if (!listed(call.scope, script_name).some(({ name }) => name === secret_name))
        throw new ApiError('secretNotFound')
      await saveBindings(deps, call, script_name, {
        ...bySecret,
        changes: new Map([[secret_name, null]]),
        pointer: () => '',
      })
      return null
    },
  }),
  rows.patch('/workers/scripts/:script_name/secrets-bulk', {
    summary: 'Store and delete several secrets with one version',
    body: Changes,
    maxBytes: 1_000_000,
    jsonAs: MERGE_PATCH,
    result: Type.Object({}),
    async handle({ deps, listed, bySecret }, call) {
      const given = Object.entries(call.body.secrets ?? {})
      const changes = new Map(given.map(([name, secret]) => [name, secret && { ...secret, name }]))
      const { script_name } = call.params
      if (changes.size > 0) await saveBindings(deps, call, script_name, { ...bySecret, changes, pointer: inSecrets })
      return Object.fromEntries(listed(call.scope, script_name).map((secret) => [secret.name, secret]))
    },
  }),
])

const inSecrets = (name: string): string => `/secrets/${pointerToken(name)}`
