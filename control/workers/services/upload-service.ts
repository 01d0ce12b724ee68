import { BadToken } from '../../../src/workers/assets/uploads.js'
import type { Binding, StoredAssets, StoredScript, StoredVersion } from '../../../src/core/model/worker.js'
import { WORKER_SCRIPTS } from '../../../src/core/model/worker.js'
import type { Scope } from '../../../src/core/scope.js'
import type { Stored } from '../../../src/core/store.js'
import { applyExports } from '../../../src/workers/durable/apply-exports.js'
import type { Reconciliation } from '../../../src/workers/durable/reconciliation.js'
import { reject } from '../../../src/workers/upload-errors.js'
import { readUpload, type UploadForm } from '../../../src/workers/upload/form.js'
import { mainModuleIssues } from '../../../src/workers/upload/modules.js'
import { resolveBindings } from '../../../src/workers/inherited-bindings.js'
import { keptAnnotations, metadataIssues, tooManyBindings } from '../../../src/workers/metadata/check.js'
import { inertMembers } from '../../../src/workers/runtime/inert.js'
import type { Metadata } from '../../../src/workers/metadata/schema.js'
import type { VersionDraft } from '../../../src/workers/script-repository.js'
import { audit } from '../../resources/audit.js'
import type { Call } from '../../http/endpoint.js'
import { assertNotHostile } from '../../http/json-limits.js'
import type { WorkersDeps } from './index.js'
import { assertScriptQuota } from './find.js'
import { withForm } from './multipart.js'
import { partIssues } from './part-bindings.js'
import { codeOf, prepareCode, validated, type PreparedCode } from './prepared-code.js'
import { withApiErrors } from './api-errors.js'
import { checkConditions } from '../../http/conditions.js'
import { clientOf, scriptName } from './request.js'
import { entrypointIssues } from './target-warnings.js'

export interface UploadOptions {
  /** Serves all requests from then on; else the version is only kept. */
  readonly deployed: boolean
  /** An `inherit` binding that finds nothing makes the upload fail. */
  readonly strict: boolean
  /** The settings that all versions share stay as they are, in place of following from the metadata. */
  readonly settingsStay?: boolean
}

/** A version as it was stored. */
export interface Uploaded {
  readonly script: StoredScript
  readonly version: StoredVersion
  /** Only if the metadata had `exports`. */
  readonly reconciliation: Reconciliation | undefined
  /** Warnings of the runtime about the code. */
  readonly warnings: readonly string[]
  /** Pointers to the members of the metadata that have no effect here. */
  readonly inert: readonly string[]
}

/** An upload that was read and checked, independent of the stored script. */
interface Prepared extends PreparedCode {
  readonly metadata: Metadata
}

/** Reads, checks and stores uploads of scripts, each completely or not at all. */
export class UploadService {
  readonly #deps: WorkersDeps

  constructor(deps: WorkersDeps) {
    this.#deps = deps
  }

  /** Stores the form of a request as a version. Errors have pointers into the metadata. */
  async take(call: Call<'script_name'>, options: UploadOptions): Promise<Uploaded> {
    const name = scriptName(call.params.script_name)
    const { uploads, limits } = this.#deps.workers()
    const { bytes, parts } = limits().upload
    return await withForm(call.request, { bytes, parts, memory: uploads }, async (form) =>
      withApiErrors(async () => {
        const { metadata_bytes: metadataBytes } = limits().upload
        return await this.keep(call, name, readUpload(form, { metadataBytes }), options)
      }),
    )
  }

  /** Stores an upload, however it came, as a version. Throws UploadRefused. */
  async keep(call: Call, name: string, upload: UploadForm, options: UploadOptions): Promise<Uploaded> {
    return await this.#store(call, name, await this.#prepare(upload), options)
  }

  async #prepare({ metadata: document, files }: UploadForm): Promise<Prepared> {
    const { quotas } = this.#deps.workers().limits()
    assertNotHostile(document)
    const issues = metadataIssues(document, { bindings: quotas.bindings, valueBytes: quotas.value_bytes })
    if (issues.length > 0) reject([...issues, ...mainModuleIssues(document, files)])
    const metadata = document as Metadata
    return { metadata, ...(await prepareCode(this.#deps.workers(), metadata, files)) }
  }

  async #store(call: Call, name: string, prepared: Prepared, options: UploadOptions): Promise<Uploaded> {
    const { workers, edits } = this.#deps
    const { repository } = workers()
    const { metadata, files } = prepared
    const { bindings: max } = workers().limits().quotas
    const modules = await repository.putModules(files)
    const manifest = await this.#manifest(call, name, metadata)
    return await edits.run(call.accountId, async () => {
      const { store } = this.#deps
      const { scope } = call
      const before = repository.script(scope, name)
      if (!before) assertScriptQuota(this.#deps, call.scope)
      const latest = before && repository.readVersion(call.scope, before.value, 'latest')
      checkConditions(call.request, latest?.etag, 'scriptChanged')
      const bindings = resolveBindings({
        bindings: metadata.bindings ?? [],
        keep: metadata.keep_bindings ?? keptUnasked(clientOf(call.request)),
        before: latest ? repository.openBindings(call.scope, latest) : [],
        version: options.deployed ? undefined : (id) => this.#bindingsOf(call.scope, before?.value, id),
        strict: options.strict,
      })
      // Those that are kept count as well.
      if (bindings.length > max) reject([tooManyBindings(max)])
      reject(partIssues(bindings, metadata.bindings ?? [], { format: prepared.main?.format, files }))
      const checked = await validated(workers().runtime, { code: prepared, bindings, metadata })
      reject(entrypointIssues(store, scope, metadata.bindings ?? [], { script: name, named: checked.report.named }))
      const code = new Map(checked.report.named.map((one) => [one.name, one.kind]))
      const settled = applyExports({
        store,
        scope,
        script: name,
        before: before?.value,
        metadata,
        code,
        bindings,
        deployed: options.deployed,
      })
      const assets = assetsOf(metadata, manifest, latest?.assets)
      const saved = await repository.saveVersion({
        scope,
        name,
        before,
        draft: {
          ...draftOf(call, { ...prepared, report: checked.report }, settled.migration_tag),
          modules,
          bindings,
          ...(assets && { assets }),
        },
        change: this.#change(call, before, metadata, options, settled),
        ...(options.deployed && { deploy: this.#note(call, metadata) }),
        writes: settled.writes,
        audit: (old, after) =>
          audit(this.#deps.clock, call, {
            kind: WORKER_SCRIPTS,
            scope,
            id: name,
            before: old,
            after,
          }),
      })
      return {
        ...saved,
        reconciliation: settled.reconciliation,
        warnings: checked.warnings,
        inert: inertMembers(metadata),
      }
    })
  }

  /** Returns the manifest of the completion token, or undefined without a token. */
  async #manifest({ scope }: Call, name: string, { assets }: Metadata): Promise<string | undefined> {
    if (assets?.jwt === undefined) return undefined
    try {
      return await this.#deps.workers().assets.readCompletion(scope, name, assets.jwt)
    } catch (error) {
      if (!(error instanceof BadToken)) throw error
      reject([{ kind: 'invalidScript', pointer: '/assets/jwt', message: error.message }])
      return undefined
    }
  }

  #bindingsOf(scope: Scope, script: StoredScript | undefined, id: string): Binding[] | undefined {
    const { repository } = this.#deps.workers()
    const version = script && repository.readVersion(scope, script, id)
    return version && repository.openBindings(scope, version)
  }

  #note(call: Call, { annotations }: Metadata) {
    const kept = keptAnnotations(annotations)
    return {
      source: clientOf(call.request),
      author_email: call.caller.email ?? '',
      annotations: { 'workers/triggered_by': 'upload', ...kept },
    }
  }

  /**
   * Returns the changes of the upload to the script itself. If the upload is deployed, these are all settings of the
   * script.
   */
  #change(
    call: Call,
    before: Stored<StoredScript> | undefined,
    metadata: Metadata,
    { deployed, settingsStay = false }: UploadOptions,
    { migration_tag, declarative }: { migration_tag: string | undefined; declarative: boolean },
  ) {
    const source = { last_deployed_from: clientOf(call.request) }
    if (!deployed) return before ? {} : source
    const classes = { ...source, ...(migration_tag !== undefined && { migration_tag }), declarative }
    if (settingsStay) return classes
    const { logpush = false, tags = [], tail_consumers, observability } = metadata
    return {
      ...classes,
      logpush,
      tags,
      tail_consumers: tail_consumers ?? [],
      observability,
    }
  }
}

/**
 * Types of bindings that are kept where an upload does not say which: wrangler 4.86 deploys without `keep_bindings`, and its
 * users set a secret once for all deployments to come.
 */
const keptUnasked = (client: string): readonly string[] => (client === 'wrangler' ? ['secret_text', 'secret_key'] : [])

/**
 * Returns the assets of a version. A token names them, or with `keep_assets` the assets of the previous version are
 * used.
 */
function assetsOf(
  { assets, keep_assets }: Metadata,
  manifest: string | undefined,
  before: StoredAssets | undefined,
): StoredAssets | undefined {
  const kept = manifest ?? (keep_assets === true ? before?.manifest : undefined)
  if (kept === undefined) return undefined
  return { manifest: kept, config: assets?.config ?? (manifest === undefined ? before?.config : undefined) ?? {} }
}

/** Members of the metadata that are stored in a separate place, or that matter only during the upload. */
const PLACED: ReadonlySet<string> = new Set([
  'annotations',
  'assets',
  'bindings',
  'body_part',
  'cache_options',
  'compatibility_date',
  'compatibility_flags',
  'exports',
  'keep_assets',
  'keep_bindings',
  'limits',
  'logpush',
  'main_module',
  'migrations',
  'observability',
  'placement',
  'tags',
  'tail_consumers',
  'usage_model',
])

/** All of a version but its modules, bindings and assets. */
function draftOf(
  { caller, request }: Call,
  prepared: Prepared,
  migration_tag: string | undefined,
): Omit<VersionDraft, 'modules' | 'bindings' | 'assets'> {
  const { metadata } = prepared
  const { compatibility_date, limits, placement, cache_options, observability, exports } = metadata
  return {
    author: { id: caller.id, ...(caller.email !== undefined && { email: caller.email }) },
    source: clientOf(request),
    annotations: keptAnnotations(metadata.annotations),
    ...codeOf(prepared),
    compatibility_flags: metadata.compatibility_flags ?? [],
    usage_model: metadata.usage_model ?? 'standard',
    ...(compatibility_date !== undefined && { compatibility_date }),
    ...(limits && { limits }),
    ...(placement && { placement }),
    ...(cache_options && { cache_options }),
    ...(observability && { observability }),
    ...(exports && { exports }),
    ...(migration_tag !== undefined && { migration_tag }),
    metadata: Object.fromEntries(Object.entries(metadata).filter(([member]) => !PLACED.has(member))),
  }
}
