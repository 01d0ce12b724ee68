/** A store for bytes too large for a record, by their SHA-256. */
export interface Blobs {
  /** Durable when it resolves, with the name of the blob: 64 hexadecimal digits. Equal bytes have the same name. */
  put(bytes: Uint8Array): Promise<string>
  /** Returns undefined if the blob does not exist. Rejects if its bytes do not match its name. */
  get(name: string): Promise<Buffer | undefined>
  /** Deletes blobs last put more than `olderThanMs` ago and not in `referenced`. Resolves with their number. */
  collect(referenced: ReadonlySet<string>, olderThanMs: number): Promise<number>
}

/** The bytes of a blob that a record names are damaged or missing. */
export class BlobLost extends Error {
  override readonly name = 'BlobLost'

  constructor(blob: string, how: 'damaged' | 'missing', holder = '') {
    super(
      `the blob ${blob}${holder && ` of ${holder}`} is ${how}; upload its content again, or restore it from a backup`,
    )
  }
}
