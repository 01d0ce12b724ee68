import { jwtVerify, SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Blobs } from '../../core/blobs.js'
import type { Clock } from '../../core/clock.js'
import { eachAtOnce } from '../../core/schedule/at-once.js'
import { EventLoopYield, type Pause } from '../../core/schedule/event-loop-yield.js'
import { newId } from '../../core/ids.js'
import { ASSET_SESSIONS, WORKER_ASSETS, type AssetSession, type StoredAsset } from '../../core/model/worker-assets.js'
import type { Scope } from '../../core/scope.js'
import type { Store, Stored } from '../../core/store.js'
import { checkAnnounced, manifestBytes, SLICE_FILES, type AnnouncedFiles, type AssetLimits } from './manifest.js'

/** A token is not one of ours, is over, or is for something else. */
export class BadToken extends Error {
  override readonly name = 'BadToken'
}

/** An uploaded file does not match its announcement. */
export class BadFile extends Error {
  override readonly name = 'BadFile'
  readonly hash: string

  constructor(hash: string, message: string) {
    super(message)
    this.hash = hash
  }
}

/**
 * One uploaded file. `type` is undefined if the file is served without a type, and '' if the end of its path determines
 * the type.
 */
export interface UploadedFile {
  readonly hash: string
  readonly type: string | undefined
  readonly bytes: Buffer
}

/**
 * The start of a session, with the hashes to upload, one request per bucket. If there are no hashes, the token is
 * already the completion token.
 */
export interface OpenedSession {
  readonly jwt: string
  readonly buckets: readonly (readonly string[])[]
}

/** Somebody who may upload files of one session. */
export interface AdmittedUpload {
  /**
   * Stores the files. Resolves with the completion token after all files of the session are stored, before that with
   * undefined. Throws BadFile and stores no file if one is invalid.
   */
  take(files: readonly UploadedFile[]): Promise<string | undefined>
}

export interface AssetUploadDeps {
  readonly store: Store
  readonly blobs: Blobs
  readonly clock: Clock
  /** Keys of tokens, 32 bytes each. The first one signs, and every key is valid. */
  readonly keys: () => readonly [Uint8Array, ...Uint8Array[]]
  readonly limits: () => AssetLimits
  /** Called between slices of long work. The default yields to the event loop. */
  readonly pause?: Pause
}

/** Validity of tokens and of the files uploaded with them. */
const SESSION_MS = 3_600_000
/** Maximum number of concurrent sessions of an account. Beyond it the oldest ends. */
const MAX_SESSIONS = 100
const MAX_BUCKET_FILES = 250
/** Files of one request, unless a single one is larger. */
export const BUCKET_BYTES = 20 * 1024 * 1024
/** Blobs of one request that are written at the same time. */
const WRITE_CONCURRENCY = 8

type Use = 'upload' | 'completion'

interface Claims {
  readonly use: Use
  readonly account: string
  readonly script: string
  readonly session: string
}

/** Files that a session still expects. Rebuilt from its record if they are not in memory. */
interface Progress {
  readonly files: AnnouncedFiles
  readonly sizes: ReadonlyMap<string, number>
  readonly missing: Set<string>
}

/** Uploads of static files of Workers. A session announces files, receives their bytes and issues completion tokens. */
export class AssetUploads {
  readonly #deps: AssetUploadDeps
  readonly #pause: Pause
  readonly #progress = new LRUCache<string, Progress>({ max: 16 })

  constructor(deps: AssetUploadDeps) {
    this.#deps = deps
    const slices = new EventLoopYield()
    this.#pause = deps.pause ?? (() => slices.yieldToEventLoop())
  }

  /** Opens a session. Throws InvalidInput if the files cannot be served. */
  async open(scope: Scope, script: string, files: AnnouncedFiles): Promise<OpenedSession> {
    // The manifest was parsed and checked against its schema before.
    await this.#pause()
    await checkAnnounced(files, this.#deps.limits(), this.#pause)
    await this.#makeRoom(scope)
    const announced = await this.#deps.blobs.put(Buffer.from(JSON.stringify(files)))
    const id = newId()
    const session: AssetSession = { script, announced, expires_at: this.#deps.clock.now() + SESSION_MS }
    // From here on, files that the account already has are retained.
    await this.#deps.store.batch([{ kind: ASSET_SESSIONS, scope, id, value: session, ifVersion: 0 }])
    const progress = await this.#begin(scope, files)
    const claims = { account: scope.id, script, session: id }
    if (progress.missing.size === 0) return { jwt: await this.#complete(scope, claims, progress), buckets: [] }
    this.#progress.set(id, progress)
    return { jwt: await this.#sign({ use: 'upload', ...claims }), buckets: buckets(progress) }
  }

  /** Lets in who has the token of a session. Throws BadToken. */
  async admit(scope: Scope, jwt: string): Promise<AdmittedUpload> {
    const claims = await this.#verify(jwt, 'upload', scope)
    const session = this.#session(scope, claims)
    return { take: async (files) => await this.#take(scope, claims, session.value, files) }
  }

  /** Returns the name of the manifest blob of a completion token. Throws BadToken. */
  async readCompletion(scope: Scope, script: string, jwt: string): Promise<string> {
    const claims = await this.#verify(jwt, 'completion', scope)
    if (claims.script !== script) throw new BadToken('the token is for another Worker')
    const { manifest } = this.#session(scope, claims).value
    if (manifest === undefined) throw new BadToken('not all files are uploaded')
    return manifest
  }

  async #take(
    scope: Scope,
    claims: Claims,
    session: AssetSession,
    files: readonly UploadedFile[],
  ): Promise<string | undefined> {
    const { store } = this.#deps
    const progress = await this.#resume(scope, claims.session, session)
    for (const file of files) check(file, progress)
    const stored = await this.#put(files)
    await store.batch([...stored].map(([id, value]) => ({ kind: WORKER_ASSETS, scope, id, value })))
    await this.#eachHash(progress.missing, (hash) => {
      if (isStored(store, scope, hash, progress)) progress.missing.delete(hash)
    })
    return progress.missing.size === 0 ? await this.#complete(scope, claims, progress) : undefined
  }

  /** Calls `use` for each hash, with pauses. */
  async #eachHash(hashes: Iterable<string>, use: (hash: string) => void): Promise<void> {
    let read = 0
    for (const hash of hashes) {
      use(hash)
      if (++read % SLICE_FILES === 0) await this.#pause()
    }
  }

  async #begin(scope: Scope, files: AnnouncedFiles): Promise<Progress> {
    const sizes = new Map(Object.values(files).map(({ hash, size }) => [hash, size]))
    const progress: Progress = { files, sizes, missing: new Set() }
    await this.#eachHash(sizes.keys(), (hash) => {
      if (!isStored(this.#deps.store, scope, hash, progress)) progress.missing.add(hash)
    })
    return progress
  }

  async #resume(scope: Scope, id: string, { announced }: AssetSession): Promise<Progress> {
    const known = this.#progress.get(id)
    if (known) return known
    const bytes = await this.#deps.blobs.get(announced)
    if (!bytes) throw new BadToken('the session is over')
    const progress = await this.#begin(scope, JSON.parse(bytes.toString()) as AnnouncedFiles)
    this.#progress.set(id, progress)
    return progress
  }

  async #complete(scope: Scope, claims: Omit<Claims, 'use'>, { files }: Progress): Promise<string> {
    const { store, blobs, clock } = this.#deps
    const manifest = await blobs.put(
      await manifestBytes(
        files,
        (hash) => {
          const asset = store.get(WORKER_ASSETS, scope, hash)
          if (!asset) throw new BadToken('the session is over')
          return asset.value
        },
        this.#pause,
      ),
    )
    const expires_at = clock.now() + SESSION_MS
    await store.change(ASSET_SESSIONS, scope, claims.session, (old) => old && { ...old, manifest, expires_at })
    this.#progress.delete(claims.session)
    return await this.#sign({ ...claims, use: 'completion' })
  }

  async #put(files: readonly UploadedFile[]): Promise<Map<string, StoredAsset>> {
    const stored = new Map<string, StoredAsset>()
    await eachAtOnce(files, WRITE_CONCURRENCY, async ({ hash, type, bytes }) => {
      const blob = await this.#deps.blobs.put(bytes)
      stored.set(hash, { blob, size: bytes.length, ...(type !== undefined && { type }) })
    })
    return stored
  }

  /** Sessions that are over go, and of too many the oldest. */
  async #makeRoom(scope: Scope): Promise<void> {
    const { store, clock } = this.#deps
    const byAge = [...store.list(ASSET_SESSIONS, scope)].sort((a, b) => a.value.expires_at - b.value.expires_at)
    const gone = byAge.filter(
      ({ value }, index) => value.expires_at <= clock.now() || byAge.length - index >= MAX_SESSIONS,
    )
    if (gone.length === 0) return
    await store.batch(gone.map(({ id }) => ({ kind: ASSET_SESSIONS, scope, id, value: undefined })))
    for (const { id } of gone) this.#progress.delete(id)
  }

  #session(scope: Scope, { session }: Claims): Stored<AssetSession> {
    const found = this.#deps.store.get(ASSET_SESSIONS, scope, session)
    if (!found || found.value.expires_at <= this.#deps.clock.now()) throw new BadToken('the session is over')
    return found
  }

  async #sign(claims: Claims): Promise<string> {
    const now = Math.floor(this.#deps.clock.now() / 1000)
    return await new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuedAt(now)
      .setExpirationTime(now + SESSION_MS / 1000)
      .sign(this.#deps.keys()[0])
  }

  async #verify(jwt: string, use: Use, scope: Scope): Promise<Claims> {
    const { keys, clock } = this.#deps
    const currentDate = new Date(clock.now())
    const verify = async (key: Uint8Array) => await jwtVerify<Claims>(jwt, key, { algorithms: ['HS256'], currentDate })
    const { payload } = await Promise.any(keys().map(verify)).catch((cause) => {
      throw new BadToken('the token is not valid, or no longer', { cause })
    })
    if (payload.use !== use) throw new BadToken(`the token is not valid for ${use}`)
    if (payload.account !== scope.id) throw new BadToken('the token is for another account')
    return payload
  }
}

function check({ hash, bytes }: UploadedFile, { sizes }: Progress): void {
  const size = sizes.get(hash)
  if (size === undefined) throw new BadFile(hash, 'no file with this hash was announced')
  if (size !== bytes.length) throw new BadFile(hash, `the file has ${bytes.length} bytes, but ${size} were announced`)
}

const isStored = (store: Store, scope: Scope, hash: string, { sizes }: Progress): boolean =>
  store.get(WORKER_ASSETS, scope, hash)?.value.size === sizes.get(hash)

/** Hashes in the order of their files. The size of a bucket keeps each request small. */
function buckets({ missing, sizes }: Progress): string[][] {
  const all: string[][] = []
  let bytes = Infinity
  for (const hash of missing) {
    const size = sizes.get(hash) ?? 0
    const last = all.at(-1)
    if (!last || last.length >= MAX_BUCKET_FILES || bytes + size > BUCKET_BYTES) {
      all.push([hash])
      bytes = size
    } else {
      last.push(hash)
      bytes += size
    }
  }
  return all
}
