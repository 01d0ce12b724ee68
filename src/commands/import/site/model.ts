/** A rule of the configuration, as the API takes it. */
export interface ImportedRule {
  readonly expression: string
  readonly action: string
  readonly action_parameters?: object
  readonly ratelimit?: object
  readonly description?: string
  readonly enabled?: boolean
}

/** One origin with its options. */
export interface OriginEntry {
  readonly url: string
  readonly weight?: number
  readonly backup?: boolean
  readonly connections?: number
}

/** Where requests go: to origins, or to a folder of files. */
export interface Target {
  readonly origin?: string
  readonly origins?: readonly OriginEntry[]
  readonly balance?: string
  readonly health?: object
  readonly retries?: number
  readonly root?: string | { readonly folder: string; readonly html: 'exact' }
}

/** Who gets in. */
export type Auth =
  | {
      readonly basic: {
        readonly realm?: string
        readonly users_file?: string
        readonly users?: Readonly<Record<string, string>>
      }
    }
  | { readonly forward: { readonly url: string; readonly copy?: readonly string[] } }

/** An entry of `paths`. */
export interface PathEntry extends Target {
  readonly path: string
  readonly strip_prefix?: string
  /** False: everybody, although the zone has one. */
  readonly auth?: Auth | false
  /** Lines above the entry. */
  readonly comment?: string
}

/** An entry of `zones`. */
export interface ImportedZone extends Target {
  readonly name: string
  /** Default: the name of the zone as its seed. */
  readonly id?: string
  readonly hostnames: readonly string[]
  readonly comment?: string
  readonly auth?: Auth
  readonly compress?: boolean
  readonly cache?: 'off' | 'default' | 'everything'
  readonly settings?: Readonly<Record<string, unknown>>
  readonly paths?: readonly PathEntry[]
  /** Rules by phase. */
  readonly rules?: Readonly<Record<string, readonly ImportedRule[]>>
  readonly origin_ca_file?: string
  readonly client_ca_file?: string
  readonly websockets?: boolean
  /** Addresses with ports that rules name as origins. */
  readonly named?: readonly string[]
}

/** A configuration that is printed. */
export interface ImportedConfig {
  /** Lines at the beginning of the file. */
  readonly about: readonly string[]
  readonly listen?: string
  readonly tls?: {
    readonly listen?: string
    readonly min_version?: string
    readonly certificates?: readonly object[]
    readonly acme?: object
  }
  readonly trustedProxies?: readonly string[]
  readonly bodyBytes?: string
  readonly originTimeouts?: Readonly<Record<string, string>>
  readonly accessLog?: { readonly format: string; readonly file: string }
  readonly account?: { readonly id: string; readonly name: string }
  readonly lists?: readonly object[]
  readonly zones: readonly ImportedZone[]
}
