/** Who may see a path. */
export type AuthOptions =
  | { readonly basic: BasicOptions; readonly forward?: undefined }
  | { readonly forward: ForwardOptions; readonly basic?: undefined }

/** Name and password (RFC 7617). */
export interface BasicOptions {
  readonly realm: string
  /** Absolute path of a file with a line NAME:HASH per user. Undefined if `users` has them. */
  readonly file: string | undefined
  readonly users: Readonly<Record<string, string>>
}

/** Another service decides. */
export interface ForwardOptions {
  /** URL of the service without path. */
  readonly origin: string
  /** Path and query. */
  readonly target: string
  /** Names of the fields that are copied from its response, in lower case. */
  readonly copy: readonly string[]
}
