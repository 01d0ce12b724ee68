import { setImmediate as turn } from 'node:timers/promises'
import type { Blobs } from '../../core/blobs.js'
import type { Clock } from '../../core/clock.js'
import { ASSET_SESSIONS, WORKER_ASSETS, type StoredAsset } from '../../core/model/worker-assets.js'
import { WORKER_VERSIONS } from '../../core/model/worker.js'
import type { Scope } from '../../core/scope.js'
import type { Store, Stored, Write } from '../../core/store.js'
import { readManifest, type AnnouncedFiles } from './manifest.js'

/** Uploaded files that versions and uploads in progress need, at one moment. */
export interface AssetsInUse {
  /** Names of the blobs that manifests hold. */
  readonly blobs: ReadonlySet<string>
  /** Files that uploads in progress have announced, by account and hash. */
  readonly announced: ReadonlySet<string>
  /** Ids of the uploads in progress. */
  readonly sessions: ReadonlySet<string>
}

/** Number of records that one batch removes. */
const BATCH_SIZE = 500

/** Removes the records of uploads that are over. */
export async function endSessions(store: Store, clock: Clock): Promise<void> {
  const over = store.list(ASSET_SESSIONS).filter(({ value }) => value.expires_at <= clock.now())
  const writes = over.map(({ scope, id, version }) => ({
    kind: ASSET_SESSIONS,
    scope,
    id,
    value: undefined,
    ifVersion: version,
  }))
  if (writes.length > 0) await store.batch(writes)
}

/** Reads all manifests and announcements. Rejects if one is missing, because it is then unknown which files are needed. */
export async function assetsInUse(store: Store, blobs: Blobs): Promise<AssetsInUse> {
  const manifests = new Set<string>()
  for (const { value } of store.list(WORKER_VERSIONS)) if (value.assets) manifests.add(value.assets.manifest)
  const sessions = store.list(ASSET_SESSIONS)
  for (const { value } of sessions) if (value.manifest !== undefined) manifests.add(value.manifest)

  const read = async (name: string): Promise<Buffer> => {
    await turn()
    const bytes = await blobs.get(name)
    if (!bytes) throw new Error(`the blob ${name} with the list of a Worker's files is missing`)
    return bytes
  }
  const named = new Set<string>()
  for (const name of manifests) for (const { blob } of readManifest(await read(name)).values()) named.add(blob)
  const announced = new Set<string>()
  for (const { scope, value } of sessions) {
    const files = JSON.parse((await read(value.announced)).toString()) as AnnouncedFiles
    for (const { hash } of Object.values(files)) announced.add(`${scope.id} ${hash}`)
  }
  return { blobs: named, announced, sessions: new Set(sessions.map(({ id }) => id)) }
}

/**
 * Deletes the records of unused files. Clients upload such a file again if they need the file. A later collection
 * deletes the blob, because an upload that has just begun may rely on it.
 */
export async function forgetUnused(
  store: Store,
  { blobs, announced, sessions }: AssetsInUse,
  records: readonly Stored<unknown>[],
): Promise<void> {
  const unused = records.filter(
    (record): record is Stored<StoredAsset> =>
      record.kind === WORKER_ASSETS.name &&
      !blobs.has((record.value as StoredAsset).blob) &&
      !announced.has(`${record.scope.id} ${record.id}`),
  )
  const begun = (scope: Scope) => store.list(ASSET_SESSIONS, scope).some(({ id }) => !sessions.has(id))
  for (let at = 0; at < unused.length; at += BATCH_SIZE) {
    const writes = unused
      .slice(at, at + BATCH_SIZE)
      // Uploads may have begun in between and need some of these files, which remain until the next run.
      .filter(({ scope }) => !begun(scope))
      .map(({ scope, id, version }): Write => ({
        kind: WORKER_ASSETS,
        scope,
        id,
        value: undefined,
        ifVersion: version,
      }))
    if (writes.length > 0) await store.batch(writes)
  }
}
