import { createHash } from 'node:crypto'
import { systemClock, type Clock } from '../../src/core/clock.js'
import {
  WORKER_DEPLOYMENTS,
  WORKER_SCRIPTS,
  WORKER_VERSIONS,
  type StoredScript,
  type StoredVersion,
} from '../../src/core/model/worker.js'
import { domainId, WORKER_DOMAINS } from '../../src/core/model/worker-routing.js'
import { account } from '../../src/core/scope.js'
import type { Blobs } from '../../src/core/blobs.js'
import type { Store } from '../../src/core/store.js'
import type { AssetConfig } from '../../src/workers/assets/config.js'
import { AssetUploads, type UploadedFile } from '../../src/workers/assets/uploads.js'

/** A file to deploy: its bytes and its content type. */
export type Content = readonly [bytes: string | Buffer, type?: string]

export const hashOf = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex').slice(0, 32)

/** Uploads of one account's files over a store. */
export const uploadsOver = (store: Store, blobs: Blobs, clock: Clock = systemClock): AssetUploads =>
  new AssetUploads({
    store,
    blobs,
    clock,
    keys: () => [Buffer.alloc(32, 7)],
    limits: () => ({ files: 20_000, file_bytes: 25 * 1024 * 1024 }),
  })

/** Uploads files of a Worker. Returns the name of their manifest. */
export async function uploaded(
  uploads: AssetUploads,
  accountId: string,
  script: string,
  files: Readonly<Record<string, Content>>,
): Promise<string> {
  const scope = account(accountId)
  const announced = Object.entries(files).map(([path, [bytes]]) => [
    path,
    { hash: hashOf(path + Buffer.from(bytes).toString('latin1')), size: Buffer.byteLength(bytes) },
  ])
  const { jwt, buckets } = await uploads.open(scope, script, Object.fromEntries(announced))
  let completion = buckets.length === 0 ? jwt : undefined
  for (const bucket of buckets) {
    const parts = Object.entries(files).map(([path, [bytes, type]]): UploadedFile => ({
      hash: hashOf(path + Buffer.from(bytes).toString('latin1')),
      type,
      bytes: Buffer.from(bytes),
    }))
    const admitted = await uploads.admit(scope, jwt)
    completion = await admitted.take(parts.filter(({ hash }) => bucket.includes(hash)))
  }
  return await uploads.readCompletion(scope, script, completion ?? '')
}

/** Stores a version of a Worker and deploys it, on a domain if one is passed. */
export async function deployed(
  store: Store,
  accountId: string,
  name: string,
  version: { manifest?: string; config?: AssetConfig; main?: string; hostname?: string; zoneId?: string },
): Promise<void> {
  const scope = account(accountId)
  const before = store.get(WORKER_SCRIPTS, scope, name)
  const number = (before?.value.number ?? 0) + 1
  const id = `${name}-${number}`
  const now = '2026-11-21T12:00:00.000Z'
  const { manifest, config = {}, main, hostname, zoneId = '' } = version
  const value: StoredVersion = {
    id,
    script: name,
    number,
    created_on: now,
    author: { id: 'test' },
    source: 'api',
    annotations: {},
    format: 'modules',
    modules: [],
    etag: id,
    handlers: [],
    named: [],
    startup_time_ms: 0,
    bindings: [],
    compatibility_flags: [],
    usage_model: 'standard',
    metadata: {},
    ...(main !== undefined && { main }),
    ...(manifest !== undefined && { assets: { manifest, config } }),
  }
  const script: StoredScript = {
    name,
    tag: id,
    created_on: now,
    modified_on: now,
    versions: [id],
    number,
    deployments: [id],
    declarative: false,
    logpush: false,
    tags: [],
    tail_consumers: [],
  }
  const deployment = {
    id,
    script: name,
    created_on: now,
    source: 'api',
    strategy: 'percentage' as const,
    author_email: '',
    annotations: {},
    versions: [{ version_id: id, percentage: 100 }],
  }
  await store.batch([
    { kind: WORKER_VERSIONS, scope, id, value },
    { kind: WORKER_DEPLOYMENTS, scope, id, value: deployment },
    { kind: WORKER_SCRIPTS, scope, id: name, value: script },
    ...(hostname === undefined
      ? []
      : [
          {
            kind: WORKER_DOMAINS,
            scope,
            id: domainId(hostname),
            value: {
              id: domainId(hostname),
              hostname,
              service: name,
              environment: 'production',
              zone_id: zoneId,
              zone_name: '',
              enabled: true,
              previews_enabled: false,
            },
          },
        ]),
  ])
}
