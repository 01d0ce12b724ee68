/** A store for bytes too large for a record, by their SHA-256. */
export interface Blobs {
  /** Durable when it resolves, with the name of the blob: 64 hexadecimal digits. Equal bytes have the same name. */
  put(bytes: Uint8Array): Promise<string>
  /** Returns undefined if it does not exist; rejects if its bytes do not match its name. */
  get(name: string): Promise<Buffer | undefined>
  /** Deletes blobs last put more than `olderThanMs` ago and not in `referenced`; resolves with their number. */
  collect(referenced: ReadonlySet<string>, olderThanMs: number): Promise<number>
}
