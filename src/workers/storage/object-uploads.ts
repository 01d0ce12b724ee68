import { createHash } from 'node:crypto'
import { AgeClock } from '../../core/age-clock.js'
import type { Clock } from '../../core/clock.js'
import { newId } from '../../core/ids.js'
import {
  objectId,
  partId,
  R2_PARTS,
  R2_UPLOADS,
  type StoredObject,
  type StoredPart,
  type StoredUpload,
} from '../../core/model/objects.js'
import type { Scope } from '../../core/scope.js'
import type { Store, Stored, Write } from '../../core/store.js'
import { ObjectError } from './object-error.js'
import type { ObjectFields, ObjectPlace, Objects } from './objects.js'
import { firstFrom } from './sorted.js'

const MAX_PARTS = 10_000
const MIN_PART_BYTES = 5 * 2 ** 20
const MAX_PART_BYTES = 5 * 2 ** 30
/** Of one account. */
const MAX_UPLOADS = 1000
const MAX_ACCOUNT_PARTS = 50_000
/** Uploads that nobody completes are deleted after this time, when another one begins. */
const MAX_AGE_MS = 7 * 86_400_000

/** A part as the client names it to complete an upload. */
export interface NamedPart {
  readonly part: number
  readonly etag: string
}

/** Uploads of objects in parts. */
export class ObjectUploads {
  readonly #store: Store
  readonly #clock: Clock
  readonly #ages: AgeClock
  readonly #objects: Objects

  constructor({ store, clock, objects }: { store: Store; clock: Clock; objects: Objects }) {
    this.#store = store
    this.#clock = clock
    this.#ages = new AgeClock(clock)
    this.#objects = objects
  }

  /** Begins an upload. Resolves with its id. */
  async create(place: ObjectPlace, { http, custom, storageClass = 'Standard' }: ObjectFields): Promise<string> {
    this.#objects.assertWritable(place, { custom })
    const { scope, bucket, key } = place
    await this.#expire(scope)
    if (this.#store.count(R2_UPLOADS, scope) >= MAX_UPLOADS)
      throw new ObjectError('tooMany', `an account has at most ${MAX_UPLOADS} uploads in progress`)
    const upload = newId()
    const value: StoredUpload = { key, created: this.#clock.now(), http, custom, storage_class: storageClass }
    await this.#store.batch([{ kind: R2_UPLOADS, scope, id: objectId(bucket, upload), value, ifVersion: 0 }])
    return upload
  }

  /** Stores a part and replaces an earlier part with the same number. Resolves with the entity tag of the part. */
  async put(place: ObjectPlace, upload: string, number: number, body: AsyncIterable<Uint8Array>): Promise<string> {
    const { id } = this.#upload(place, upload)
    const { scope } = place
    if (!Number.isInteger(number) || number < 1 || number > MAX_PARTS)
      throw new ObjectError('badArgument', `the number of a part is 1 to ${MAX_PARTS}`)
    if (this.#store.count(R2_PARTS, scope) >= MAX_ACCOUNT_PARTS)
      throw new ObjectError('tooMany', `an account has at most ${MAX_ACCOUNT_PARTS} parts of uploads in progress`)
    const { chunks, size, checksums } = await this.#objects.write(body, MAX_PART_BYTES, [])
    const etag = checksums['md5'] ?? ''
    const value: StoredPart = { number, etag, size, chunks }
    await this.#store.batch([{ kind: R2_PARTS, scope, id: partId(id, number), value }])
    // The upload was completed or aborted while the bytes arrived.
    if (!this.#store.get(R2_UPLOADS, scope, id)) {
      await this.#store.batch([{ kind: R2_PARTS, scope, id: partId(id, number), value: undefined }])
      throw noUpload()
    }
    return etag
  }

  /** Makes an object of parts. */
  async complete(place: ObjectPlace, upload: string, named: readonly NamedPart[]): Promise<StoredObject> {
    const { id, value } = this.#upload(place, upload)
    const { scope } = place
    const numbers = new Set(named.map(({ part }) => part))
    if (named.length === 0 || numbers.size < named.length)
      throw new ObjectError('badArgument', 'the parts must be named once each')
    const parts = named
      .toSorted((a, b) => a.part - b.part)
      .map(({ part, etag }) => {
        const found = this.#store.get(R2_PARTS, scope, partId(id, part))?.value
        if (!found || found.etag !== etag) throw new ObjectError('badPart', `part ${part} was not uploaded`)
        return found
      })
    if (parts.slice(0, -1).some(({ size }) => size < MIN_PART_BYTES))
      throw new ObjectError('partTooSmall', `each part but the last has at least ${MIN_PART_BYTES} bytes`)
    const hash = createHash('md5')
    for (const { etag } of parts) hash.update(etag, 'hex')
    const bytes = {
      chunks: parts.flatMap(({ chunks }) => chunks),
      size: parts.reduce((sum, { size }) => sum + size, 0),
      checksums: {},
      etag: `${hash.digest('hex')}-${parts.length}`,
    }
    const { http, custom, storage_class: storageClass } = value
    return await this.#objects.commit(place, bytes, { http, custom, storageClass }, this.#removal(scope, id))
  }

  async abort(place: ObjectPlace, upload: string): Promise<void> {
    const { id } = this.#upload(place, upload)
    await this.#store.batch(this.#removal(place.scope, id))
  }

  #upload({ scope, bucket, key }: ObjectPlace, upload: string): Stored<StoredUpload> {
    const found = this.#store.get(R2_UPLOADS, scope, objectId(bucket, upload))
    if (!found || found.value.key !== key) throw noUpload()
    return found
  }

  #removal(scope: Scope, id: string): Write[] {
    const parts = this.#store.list(R2_PARTS, scope)
    const writes: Write[] = [{ kind: R2_UPLOADS, scope, id, value: undefined }]
    for (const part of parts.slice(firstFrom(parts, `${id}/`))) {
      if (!part.id.startsWith(`${id}/`)) break
      writes.push({ kind: R2_PARTS, scope, id: part.id, value: undefined })
    }
    return writes
  }

  async #expire(scope: Scope): Promise<void> {
    const oldest = this.#ages.now() - MAX_AGE_MS
    const old = this.#store.list(R2_UPLOADS, scope).filter(({ value }) => value.created < oldest)
    for (const { id } of old) await this.#store.batch(this.#removal(scope, id))
  }
}

const noUpload = (): ObjectError =>
  new ObjectError('noUpload', 'the upload does not exist; it was completed or aborted')
