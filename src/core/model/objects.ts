import { kind } from '../store.js'

/** Standard header fields of an object. */
export interface ObjectHttpFields {
  readonly contentType?: string
  readonly contentLanguage?: string
  readonly contentDisposition?: string
  readonly contentEncoding?: string
  readonly cacheControl?: string
  /** Milliseconds since 1970. */
  readonly cacheExpiry?: number
}

/** Bytes of an object, which are the contents of these blobs in order. */
export interface StoredChunk {
  readonly blob: string
  readonly size: number
}

/** An object of a bucket. The scope is the account. The id is {@link objectId}. */
export interface StoredObject {
  /** 32 hexadecimal digits, other ones for each upload. */
  readonly version: string
  readonly size: number
  /** MD5 of the bytes. For an upload in parts, the MD5 of the MD5s of its parts, and the number of parts. */
  readonly etag: string
  /** Milliseconds since 1970. */
  readonly uploaded: number
  readonly http: ObjectHttpFields
  readonly custom: Readonly<Record<string, string>>
  /** Digests in hexadecimal, by name: `md5`, and the one that the client sent. */
  readonly checksums: Readonly<Record<string, string>>
  readonly storage_class: string
  readonly chunks: readonly StoredChunk[]
}
export const R2_OBJECTS = kind<StoredObject>('r2_object')

/** Returns the id of an object. `bucket` is the id of the bucket. Objects of one bucket are adjacent, in order. */
export const objectId = (bucket: string, key: string): string => `${bucket}/${key}`

/**
 * An upload in parts that is not complete. The scope is the account. The id is {@link objectId} of the bucket and its
 * own id.
 */
export interface StoredUpload {
  readonly key: string
  /** Milliseconds since 1970. */
  readonly created: number
  readonly http: ObjectHttpFields
  readonly custom: Readonly<Record<string, string>>
  readonly storage_class: string
}
export const R2_UPLOADS = kind<StoredUpload>('r2_upload')

/** A part of an upload. The scope is the account. The id is {@link partId}. */
export interface StoredPart {
  readonly number: number
  readonly etag: string
  readonly size: number
  readonly chunks: readonly StoredChunk[]
}
export const R2_PARTS = kind<StoredPart>('r2_part')

/** Returns the id of a part. Parts of one upload are adjacent, in order. */
export const partId = (upload: string, number: number): string => `${upload}/${String(number).padStart(5, '0')}`
