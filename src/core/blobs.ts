/** Bytes too big for a record, kept under their own SHA-256. */
export interface Blobs {
  /** Durable when it resolves, with the name of the blob: 64 hexadecimal digits. The same bytes have one name. */
  put(bytes: Uint8Array): Promise<string>
  /** Undefined when there is none; rejects when what is there is not what was put. */
  get(name: string): Promise<Buffer | undefined>
  /** Deletes what was last put more than `olderThanMs` ago and is not in `referenced`; resolves with how many went. */
  collect(referenced: ReadonlySet<string>, olderThanMs: number): Promise<number>
}
