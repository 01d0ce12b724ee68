import type { Blobs } from '../../core/blobs.js'
import type { Clock } from '../../core/clock.js'
import { newId } from '../../core/ids.js'
import { MemoryBudget } from '../../core/memory/memory-budget.js'
import { objectId, R2_OBJECTS, type ObjectHttpFields, type StoredObject } from '../../core/model/objects.js'
import { R2_BUCKETS } from '../../core/model/storage.js'
import type { Scope } from '../../core/scope.js'
import { VersionConflict, type Store, type Write } from '../../core/store.js'
import { readBytes, writeBytes, type Digest, type WrittenBytes } from './object-bytes.js'
import { meets, type ByteRange, type ObjectCondition } from './object-conditions.js'
import { ObjectError } from './object-error.js'
import { firstFrom } from './sorted.js'

/** Maximum number of objects of an account, in all of its buckets. */
const MAX_OBJECTS = 100_000
const MAX_OBJECT_BYTES = 5 * 2 ** 30
const MAX_KEY_BYTES = 1024
const MAX_CUSTOM_BYTES = 2048
const MEMORY_BYTES = 256 * 2 ** 20
/** Of a write that others race with. */
const MAX_ATTEMPTS = 5

/** The place of an object. `bucket` is the id of the bucket. */
export interface ObjectPlace {
  readonly scope: Scope
  readonly bucket: string
  readonly key: string
}

/** Fields stored with the bytes of an object. */
export interface ObjectFields {
  readonly http: ObjectHttpFields
  readonly custom: Readonly<Record<string, string>>
  /** Storage class. The default is the storage class of the bucket. */
  readonly storageClass?: string | undefined
}

export interface PutOptions extends ObjectFields {
  readonly condition?: ObjectCondition | undefined
  /** Digests that the bytes must have, in hexadecimal. */
  readonly digests?: ReadonlyMap<Digest, string> | undefined
  readonly maxBytes?: number
}

export interface ListOptions {
  readonly prefix?: string | undefined
  readonly delimiter?: string | undefined
  /** Objects after this key. */
  readonly after?: string | undefined
  readonly limit: number
}

export interface ObjectList {
  readonly objects: readonly (readonly [key: string, object: StoredObject])[]
  readonly prefixes: readonly string[]
  /** `after` of the next list. Undefined if nothing follows. */
  readonly next: string | undefined
}

/** Behind a text, it sorts after every key that begins with that text. */
const LAST = '\uffff'

/** The objects of all buckets. */
export class Objects {
  readonly #store: Store
  readonly #blobs: () => Blobs
  readonly #clock: Clock
  readonly #memory = new MemoryBudget(MEMORY_BYTES)

  constructor({ store, blobs, clock }: { store: Store; blobs: () => Blobs; clock: Clock }) {
    this.#store = store
    this.#blobs = blobs
    this.#clock = clock
  }

  find({ scope, bucket, key }: ObjectPlace): StoredObject | undefined {
    return this.#store.get(R2_OBJECTS, scope, objectId(bucket, key))?.value
  }

  read(object: StoredObject, range: ByteRange = { offset: 0, length: object.size }): AsyncGenerator<Buffer> {
    return readBytes(this.#blobs(), object.chunks, range)
  }

  /** Stores an object as its bytes arrive. Rejects with {@link ObjectError} `precondition` if the condition is not met. */
  async put(place: ObjectPlace, body: AsyncIterable<Uint8Array>, options: PutOptions): Promise<StoredObject> {
    this.assertWritable(place, options)
    const { condition, digests, maxBytes = MAX_OBJECT_BYTES } = options
    if (condition && !meets(condition, this.find(place))) throw notMet()
    const written = await this.write(body, maxBytes, [...(digests?.keys() ?? [])])
    for (const [name, expected] of digests ?? [])
      if (written.checksums[name] !== expected.toLowerCase())
        throw new ObjectError('badDigest', `the ${name} of the bytes is ${written.checksums[name]}, not ${expected}`)
    const checksums = { ...written.checksums }
    return await this.commit(place, { ...written, checksums, etag: checksums['md5'] ?? '' }, options)
  }

  /** Writes bytes that belong to no object yet. */
  async write(body: AsyncIterable<Uint8Array>, maxBytes: number, digests: readonly Digest[]): Promise<WrittenBytes> {
    return await writeBytes(body, { blobs: this.#blobs(), memory: this.#memory, maxBytes, digests })
  }

  /** Stores an object whose bytes are written, together with other changes. */
  async commit(
    { scope, bucket, key }: ObjectPlace,
    bytes: Pick<StoredObject, 'chunks' | 'size' | 'checksums' | 'etag'>,
    options: PutOptions,
    more: readonly Write[] = [],
  ): Promise<StoredObject> {
    const id = objectId(bucket, key)
    const storage_class =
      options.storageClass ?? this.#store.get(R2_BUCKETS, scope, bucket)?.value.storage_class ?? 'Standard'
    const { chunks, size, checksums, etag } = bytes
    const object: StoredObject = {
      version: newId(),
      size,
      etag,
      uploaded: this.#clock.now(),
      http: options.http,
      custom: options.custom,
      checksums,
      storage_class,
      chunks,
    }
    for (let attempt = 1; ; attempt++) {
      const before = this.#store.get(R2_OBJECTS, scope, id)
      if (options.condition && !meets(options.condition, before?.value)) throw notMet()
      try {
        const ifVersion = options.condition && { ifVersion: before?.version ?? 0 }
        await this.#store.batch([{ kind: R2_OBJECTS, scope, id, value: object, ...ifVersion }, ...more])
        break
      } catch (error) {
        if (!(error instanceof VersionConflict) || attempt === MAX_ATTEMPTS) throw error
      }
    }
    if (this.#store.get(R2_BUCKETS, scope, bucket)) return object
    // The bucket was deleted while the bytes arrived.
    await this.#store.batch([{ kind: R2_OBJECTS, scope, id, value: undefined }])
    throw noBucket()
  }

  async remove(scope: Scope, bucket: string, keys: readonly string[]): Promise<void> {
    const ids = [...new Set(keys)].map((key) => objectId(bucket, key))
    const present = ids.filter((id) => this.#store.get(R2_OBJECTS, scope, id))
    await this.#store.batch(present.map((id) => ({ kind: R2_OBJECTS, scope, id, value: undefined })))
  }

  /**
   * Returns objects in the order of their keys. Keys with the delimiter after the prefix are grouped, and each group is
   * one prefix in the result.
   */
  list(scope: Scope, bucket: string, { prefix = '', delimiter = '', after, limit }: ListOptions): ObjectList {
    const all = this.#store.list(R2_OBJECTS, scope)
    const first = objectId(bucket, prefix)
    const objects: [string, StoredObject][] = []
    const prefixes: string[] = []
    let consumed: string | undefined
    const behind = after === undefined ? '' : objectId(bucket, after)
    let at = firstFrom(all, behind > first ? behind : first)
    while (at < all.length) {
      const { id, value } = all[at]!
      if (!id.startsWith(first)) break
      const key = id.slice(bucket.length + 1)
      if (key === after) {
        at += 1
        continue
      }
      if (objects.length + prefixes.length === limit) return { objects, prefixes, next: consumed }
      const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length)
      if (end < 0) {
        objects.push([key, value])
        consumed = key
        at += 1
      } else {
        const common = key.slice(0, end + delimiter.length)
        prefixes.push(common)
        consumed = common + LAST
        at = firstFrom(all, objectId(bucket, consumed))
      }
    }
    return { objects, prefixes, next: undefined }
  }

  /** Throws {@link ObjectError} if an object cannot be stored there. */
  assertWritable({ scope, bucket, key }: ObjectPlace, { custom }: Pick<ObjectFields, 'custom'>): void {
    if (!this.#store.get(R2_BUCKETS, scope, bucket)) throw noBucket()
    const bytes = Buffer.byteLength(key)
    if (bytes === 0 || bytes > MAX_KEY_BYTES) throw new ObjectError('badKey', `a key has 1 to ${MAX_KEY_BYTES} bytes`)
    const size = Object.entries(custom).reduce(
      (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
      0,
    )
    if (size > MAX_CUSTOM_BYTES)
      throw new ObjectError('metadataTooLarge', `custom metadata has at most ${MAX_CUSTOM_BYTES} bytes`)
    const isNew = this.find({ scope, bucket, key }) === undefined
    if (isNew && this.#store.count(R2_OBJECTS, scope) >= MAX_OBJECTS)
      throw new ObjectError('tooMany', `an account has at most ${MAX_OBJECTS} objects`)
  }
}

const notMet = (): ObjectError => new ObjectError('precondition', 'the condition on the stored object is not met')
const noBucket = (): ObjectError => new ObjectError('noBucket', 'the bucket does not exist')
