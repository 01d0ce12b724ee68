import type { ExportEntry, StoredScript, StoredVersion } from '../core/model/worker.js'

/** Returns a script as lists and uploads show it, with facts of the script and of the given version. */
export function scriptResult(script: StoredScript, version: StoredVersion): Record<string, unknown> {
  const { placement } = version
  return {
    id: script.name,
    tag: script.tag,
    tags: script.tags,
    created_on: script.created_on,
    modified_on: script.modified_on,
    ...(script.last_deployed_from !== undefined && { last_deployed_from: script.last_deployed_from }),
    etag: version.etag,
    handlers: version.handlers,
    named_handlers: version.named.map(({ name, handlers }) => ({ name, handlers })),
    ...(version.main !== undefined && { entry_point: version.main }),
    has_assets: version.assets !== undefined,
    has_modules: version.format !== 'service-worker' && version.modules.length > 0,
    ...(version.compatibility_date !== undefined && { compatibility_date: version.compatibility_date }),
    compatibility_flags: version.compatibility_flags,
    ...(version.cache_options && { cache_options: version.cache_options }),
    ...(version.exports && { exports: liveExports(version.exports) }),
    logpush: script.logpush,
    ...(script.migration_tag !== undefined && { migration_tag: script.migration_tag }),
    ...(script.observability && { observability: script.observability }),
    ...(placement && { placement }),
    ...(typeof placement?.['mode'] === 'string' && { placement_mode: placement['mode'] }),
    ...(typeof placement?.['status'] === 'string' && { placement_status: placement['status'] }),
    tail_consumers: script.tail_consumers,
    usage_model: version.usage_model,
    startup_time_ms: version.startup_time_ms,
  }
}

/** Returns the entries that are not tombstones, each with its state. */
export const liveExports = (exports: Readonly<Record<string, ExportEntry>>): Record<string, ExportEntry> =>
  Object.fromEntries(
    Object.entries(exports).flatMap(([name, entry]) => {
      const { state = 'created' } = entry
      return state === 'created' || state === 'expecting-transfer' ? [[name, { ...entry, state }]] : []
    }),
  )
