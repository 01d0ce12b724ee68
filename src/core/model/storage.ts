import { kind, type NameOwner } from '../store.js'

/** A namespace of keys and values. The scope is the account. The id is 32 hexadecimal digits. */
export interface StoredNamespace {
  readonly id: string
  readonly title: string
  readonly jurisdiction?: string
}
export const KV_NAMESPACES = kind<StoredNamespace>('kv_namespace')

/**
 * The value of a key. The scope is the account. The id is {@link kvId}. An expired one stays stored until a read finds
 * it.
 */
export interface StoredValue {
  /** A small value, in base64. */
  readonly inline?: string
  /** The name of the blob of a larger value. */
  readonly blob?: string
  /** Size in bytes. */
  readonly size: number
  /** Unix time in seconds at which the value expires. */
  readonly expiration?: number
  readonly metadata?: unknown
}
export const KV_VALUES = kind<StoredValue>('kv_value')

/** Returns the id of the value of a key. Keys of one namespace are adjacent, in order. */
export const kvId = (namespaceId: string, key: string): string => `${namespaceId}/${key}`

/** A bucket of objects. The scope is the account. The id is {@link bucketId}. */
export interface StoredBucket {
  readonly name: string
  readonly jurisdiction: string
  readonly location?: string
  readonly storage_class: string
  readonly creation_date: string
}
export const R2_BUCKETS = kind<StoredBucket>('r2_bucket')

/** Buckets of different jurisdictions may have the same name. */
export const bucketId = (jurisdiction: string, name: string): string => `${jurisdiction}/${name}`

/** An SQL database. The scope is the account. The id is a UUID. */
export interface StoredDatabase {
  readonly uuid: string
  readonly name: string
  readonly created_at: string
  readonly jurisdiction?: string
  readonly primary_location_hint?: string
  readonly read_replication: string
}
export const D1_DATABASES = kind<StoredDatabase>('d1_database')

/** The namespace that owns a title. The scope is the account. The id is the title. */
export const KV_TITLES = kind<NameOwner>('kv_title')
/** The database that owns a name. The scope is the account. The id is the name. */
export const D1_NAMES = kind<NameOwner>('d1_name')
