import { Type } from 'typebox'
import type { StoredScript, StoredVersion } from '../../src/core/model/worker.js'
import type { Scope } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'
import { Reconciliation } from '../../src/workers/durable/reconciliation.js'
import { applyExports } from '../../src/workers/durable/apply-exports.js'
import { reject } from '../../src/workers/upload-errors.js'
import { readDocument, type FormPart } from '../../src/workers/upload/form.js'
import { resolveBindings, withStanding } from '../../src/workers/inherited-bindings.js'
import { keptAnnotations, settingsIssues } from '../../src/workers/metadata/check.js'
import { VersionSettings } from '../../src/workers/metadata/schema.js'
import { liveExports } from '../../src/workers/script-summary.js'
import type { ScriptChange } from '../../src/workers/script-repository.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, type Call, withoutEffect } from '../http/endpoint.js'
import { inertMembers } from '../../src/workers/runtime/inert.js'
import { ApiError } from '../http/errors.js'
import { assertNotHostile } from '../http/json-limits.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { scriptOf } from './services/find.js'
import { runsNow, stopped } from './services/running.js'
import { missingConsumers, missingTargets } from './services/target-warnings.js'
import { withForm } from './services/multipart.js'
import { partIssues } from './services/part-bindings.js'
import { withApiErrors } from './services/api-errors.js'
import { ownSettings } from './settings.js'
import { shownBindings } from './response-shapes.js'
import { saveNextVersion, type PreviousVersion } from './services/next-version.js'

const PATH = '/workers/scripts/:script_name/settings'
const Shown = Type.Object({
  bindings: Type.Array(Type.Object({})),
  compatibility_flags: Type.Array(Type.String()),
  logpush: Type.Boolean(),
  exports_reconciliation: Type.Optional(Reconciliation),
})

const rows = area({ scopes, access: ACCESS.workers, refusal: 'invalidScript' }, (deps: WorkersDeps) => {
  const { store, workers } = deps
  const read = ({ scope, params }: Call<'script_name'>, parts: readonly FormPart[]): VersionSettings => {
    const { upload, quotas } = workers().limits()
    const { value: script } = scriptOf(deps, scope, params.script_name)
    const { document, others } = readDocument(parts, {
      name: 'settings',
      schema: VersionSettings,
      max: upload.metadata_bytes,
    })
    const [other] = others
    if (other) throw new ApiError('badBody', undefined, `a part is named ${other.name.slice(0, 100)}, not settings`)
    // A client that sends an object without members sends no part.
    assertNotHostile(document ?? {})
    const latest = workers().repository.readVersion(scope, script, 'latest')
    const settings = withStanding(document ?? {}, latest?.bindings ?? [])
    reject(settingsIssues(settings, { bindings: quotas.bindings, valueBytes: quotas.value_bytes }))
    return settings
  }
  const make = (call: Call<'script_name'>, settings: VersionSettings, { before, latest, draft }: PreviousVersion) => {
    const { bindings: given, migrations, exports = latest.exports } = settings
    const bindings = given
      ? resolveBindings({ bindings: given, keep: [], before: draft.bindings, strict: true })
      : draft.bindings
    const files = latest.modules.map(({ name, part = name }) => ({ name, part }))
    reject(partIssues(bindings, given ?? [], { format: latest.format, files }))
    const settled = applyExports({
      store,
      scope: call.scope,
      script: before.value.name,
      before: before.value,
      metadata: {
        ...latest.metadata,
        ...(given && { bindings: given }),
        ...(migrations && { migrations }),
        ...(exports && { exports }),
      },
      code: new Map(latest.named.map(({ name, kind }) => [name, kind])),
      bindings,
      deployed: true,
    })
    const { migration_tag, declarative, writes, reconciliation } = settled
    return {
      draft: { ...ofVersion(settings), bindings, ...(migration_tag !== undefined && { migration_tag }) },
      change: { ...ofScript(settings), declarative, ...(migration_tag !== undefined && { migration_tag }) },
      writes,
      more: settings.exports && reconciliation,
    }
  }
  return { deps, store, workers, read, make }
})

/** Settings of a script together with the settings of its newest version. */
export const versionSettings = rows.endpoints([
  rows.get(PATH, {
    summary: 'Read the settings of a script and of its newest version',
    result: Shown,
    handle({ deps, store, workers }, { scope, params }) {
      const { value: script } = scriptOf(deps, scope, params.script_name)
      const version = workers().repository.readVersion(scope, script, 'latest') ?? UNVERSIONED
      return new ApiResponse(shown(store, scope, script, version), {
        messages: stopped(workers(), scope, script.name),
      })
    },
  }),
  rows.patch(PATH, {
    summary: 'Change settings of a script and its version, and deploy that; what is left out stays',
    raw: {
      types: ['multipart/form-data'],
      schema: Type.Object({ settings: Type.Optional(VersionSettings) }),
    },
    result: Shown,
    async handle({ deps, store, workers, read, make }, call) {
      const { uploads, limits } = workers()
      const { metadata_bytes: bytes, parts } = limits().upload
      return await withForm(call.request, { bytes: bytes * 2, parts, memory: uploads }, async (form) =>
        withApiErrors(async () => {
          const settings = read(call, form)
          const { script, version, more } = await saveNextVersion(deps, call, {
            name: call.params.script_name,
            deploy: true,
            annotations: { 'workers/triggered_by': 'settings', ...keptAnnotations(settings.annotations) },
            make: (from) => make(call, settings, from),
          })
          const result = {
            ...shown(store, call.scope, script, version),
            ...(more && { exports_reconciliation: more }),
          }
          const messages = [
            ...withoutEffect(inertMembers(settings)),
            ...missingTargets(store, call.scope, version.bindings),
            ...missingConsumers(store, call.scope, settings.tail_consumers ?? []),
            ...(await runsNow(workers(), call.scope, version)),
          ]
          return new ApiResponse(result, { messages })
        }),
      )
    },
  }),
])

/** Members that belong to a version, not to the script. */
function ofVersion({ annotations: _own, bindings: _settled, ...settings }: VersionSettings) {
  const { logpush: _logpush, tags: _tags, tail_consumers: _consumers, migrations: _migrations, ...version } = settings
  return version
}

/** Members that all versions share. */
function ofScript({ logpush, tags, tail_consumers, observability }: VersionSettings): ScriptChange {
  return {
    ...(logpush !== undefined && { logpush }),
    ...(tags !== undefined && { tags: tags ?? [] }),
    ...(tail_consumers !== undefined && { tail_consumers: tail_consumers ?? [] }),
    ...(observability && { observability }),
  }
}

/** Settings of a Worker before its first version. */
const UNVERSIONED = { bindings: [], compatibility_flags: [], usage_model: 'standard', annotations: {} } as const

function shown(
  store: Store,
  scope: Scope,
  script: StoredScript,
  version: Partial<StoredVersion> &
    Pick<StoredVersion, 'bindings' | 'compatibility_flags' | 'usage_model' | 'annotations'>,
) {
  const { compatibility_date, compatibility_flags, usage_model, annotations } = version
  const { limits, placement, cache_options, exports } = version
  return {
    ...ownSettings(script),
    bindings: shownBindings(store, scope, script.name, version.bindings),
    compatibility_flags: [...compatibility_flags],
    usage_model,
    annotations,
    ...(compatibility_date !== undefined && { compatibility_date }),
    ...(limits && { limits }),
    ...(placement && { placement }),
    ...(cache_options && { cache_options }),
    ...(exports && { exports: liveExports(exports) }),
    ...(script.migration_tag !== undefined && { migration_tag: script.migration_tag }),
  }
}
