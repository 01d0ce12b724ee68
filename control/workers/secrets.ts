import { Type } from 'typebox'
import type { Binding, StoredVersion } from '../../src/core/model/worker.js'
import { mapOf, orNull, pointerToken, strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { refuse } from '../../src/workers/fault.js'
import { bindingFaults, keptAnnotations } from '../../src/workers/metadata/check.js'
import { isSecret, shownBinding } from '../../src/workers/secrets.js'
import { endpoint, type Call, type Endpoint } from '../endpoint.js'
import { ApiError } from '../errors.js'
import { whole } from '../paging.js'
import type { WorkersDeps } from './engine.js'
import { scriptOf } from './find.js'
import { ACCOUNT_ONLY as scopes, READ, WRITE } from './permissions.js'
import { shownVersion } from './shown.js'
import { saveSuccessor } from './successor.js'
import { told } from './refused.js'

const PATH = '/workers/scripts/:script_name/secrets'
const Shown = Type.Object({ name: Type.String(), type: Type.Enum(['secret_text', 'secret_key']) })
const Secret = Type.Object({ name: Type.String({ minLength: 1 }), type: Type.Enum(['secret_text', 'secret_key']) })
const Changes = Type.Object(
  {
    secrets: Type.Optional(
      mapOf(orNull(Type.Object({ type: Type.Enum(['secret_text', 'secret_key']) })), {
        description: 'By name; null removes one. Others stay.',
      }),
    ),
    version_tags: Type.Optional(Type.Object({}, { description: 'Ignored.' })),
  },
  strict,
)
const LatestChange = Type.Object({
  env: Type.Optional(mapOf(orNull(Type.Object({ type: Type.String() })))),
  annotations: Type.Optional(mapOf(Type.String())),
})
const MERGE_PATCH = ['application/merge-patch+json'] as const

/** A pointer into a list of bindings. */
const BINDING = /^\/bindings\/(\d+)(.*)$/s

/** What is to become of bindings, by name: null removes one. */
type Change = ReadonlyMap<string, Binding | null>

/** Secrets of scripts. Each change makes a version, with all else as it is. */
export function secrets(deps: WorkersDeps): Endpoint[] {
  const listed = (scope: Scope, name: string): Binding[] => {
    const { value: script } = scriptOf(deps, scope, name)
    const version = deps.workers().shelf.readVersion(scope, script, 'latest')
    return (version?.bindings ?? []).filter(isSecret).map(shownBinding)
  }

  /** Makes a version of the latest one; in force at once where `deploy` says so. */
  const save = async (
    call: Call,
    name: string,
    {
      changes,
      pointer,
      deploy,
      annotations,
    }: {
      changes: Change
      pointer: (name: string) => string
      deploy: boolean
      annotations: Readonly<Record<string, string>>
    },
  ): Promise<StoredVersion> => {
    const { quotas } = deps.workers().limits()
    const { version } = await saveSuccessor(deps, call, {
      name,
      deploy,
      annotations,
      async make({ draft }) {
        const kept = draft.bindings.filter((binding) => !changes.has(binding.name))
        const added = [...changes.values()].filter((binding) => binding !== null)
        const bindings = [...kept, ...added]
        const faults = bindingFaults(bindings, { bindings: quotas.bindings, valueBytes: quotas.value_bytes })
        await told(() =>
          refuse(
            faults.map((fault) => {
              const [, at = '', rest = ''] = BINDING.exec(fault.pointer ?? '') ?? []
              const binding = added[Number(at) - kept.length]
              return binding ? { ...fault, pointer: pointer(binding.name) + rest } : fault
            }),
          ),
        )
        return { draft: { bindings }, more: undefined }
      },
    })
    return version
  }
  const bySecret = { deploy: true, annotations: { 'workers/triggered_by': 'secret' } }

  return [
    endpoint({
      method: 'get',
      path: PATH,
      scopes,
      permissions: READ,
      summary: 'List the names of the secrets of a script',
      result: Type.Array(Shown),
      answer: ({ scope, params }) => whole(listed(scope, params.script_name) as never[]),
    }),
    endpoint({
      method: 'put',
      path: PATH,
      scopes,
      permissions: WRITE,
      summary: 'Store a secret; the script goes on with it at once',
      body: Secret,
      result: Shown,
      refusal: 'badSecret',
      async answer(call) {
        const binding = call.body as Binding
        const changes = new Map([[binding.name, binding]])
        await save(call, call.params.script_name, { ...bySecret, changes, pointer: () => '' })
        return shownBinding(binding) as never
      },
    }),
    endpoint({
      method: 'get',
      path: `${PATH}/:secret_name`,
      scopes,
      permissions: READ,
      summary: 'Tell that a script has a secret, not which',
      result: Shown,
      answer({ scope, params }) {
        const found = listed(scope, params.script_name).find(({ name }) => name === params.secret_name)
        if (!found) throw new ApiError('secretNotFound')
        return found as never
      },
    }),
    endpoint({
      method: 'delete',
      path: `${PATH}/:secret_name`,
      scopes,
      permissions: WRITE,
      summary: 'Delete a secret',
      result: Type.Null(),
      async answer(call) {
        const { script_name, secret_name } = call.params
        if (!listed(call.scope, script_name).some(({ name }) => name === secret_name))
          throw new ApiError('secretNotFound')
        await save(call, script_name, { ...bySecret, changes: new Map([[secret_name, null]]), pointer: () => '' })
        return null
      },
    }),
    endpoint({
      method: 'patch',
      path: '/workers/scripts/:script_name/secrets-bulk',
      scopes,
      permissions: WRITE,
      summary: 'Store and delete several secrets with one version',
      body: Changes,
      jsonAs: MERGE_PATCH,
      result: Type.Object({}),
      refusal: 'badSecret',
      async answer(call) {
        const given = Object.entries(call.body.secrets ?? {})
        const changes = new Map(given.map(([name, secret]) => [name, secret && { ...secret, name }]))
        const { script_name } = call.params
        if (changes.size > 0) await save(call, script_name, { ...bySecret, changes, pointer: inSecrets })
        return Object.fromEntries(listed(call.scope, script_name).map((secret) => [secret.name, secret]))
      },
    }),
    endpoint({
      method: 'patch',
      path: '/workers/workers/:script_name/versions/latest',
      scopes,
      permissions: WRITE,
      summary: 'Make a version from the latest one with other bindings; it is not deployed',
      body: LatestChange,
      jsonAs: MERGE_PATCH,
      result: Type.Object({}),
      refusal: 'badSecret',
      async answer(call) {
        const { env = {}, annotations = {} } = call.body
        const changes = new Map(Object.entries(env).map(([name, binding]) => [name, binding && { ...binding, name }]))
        const { script_name } = call.params
        const version = await save(call, script_name, {
          changes,
          pointer: inEnv,
          deploy: false,
          annotations: keptAnnotations(annotations),
        })
        return shownVersion(version, scriptOf(deps, call.scope, script_name).value)
      },
    }),
  ]
}

const inSecrets = (name: string): string => `/secrets/${pointerToken(name)}`
const inEnv = (name: string): string => `/env/${pointerToken(name)}`
