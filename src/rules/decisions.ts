/* Decisions of rules about a request, as the proxy reads them. Types only. Members are named as on the wire. */

/** Settings of a zone that a rule can change for one request. */
export interface ConfigChanges {
  readonly automatic_https_rewrites?: boolean
  readonly autominify?: { readonly css?: boolean; readonly html?: boolean; readonly js?: boolean }
  readonly bic?: boolean
  readonly content_converter?: boolean
  readonly content_converter_content?: 'page' | 'main'
  readonly disable_apps?: true
  readonly disable_pay_per_crawl?: true
  readonly disable_rum?: true
  readonly disable_zaraz?: true
  readonly email_obfuscation?: boolean
  readonly fonts?: boolean
  readonly hotlink_protection?: boolean
  readonly mirage?: boolean
  readonly opportunistic_encryption?: boolean
  readonly polish?: 'off' | 'lossless' | 'lossy' | 'webp'
  readonly redirects_for_ai_training?: boolean
  readonly request_body_buffering?: 'none' | 'standard' | 'full'
  readonly response_body_buffering?: 'none' | 'standard'
  readonly rocket_loader?: boolean
  readonly security_level?: 'off' | 'essentially_off' | 'low' | 'medium' | 'high' | 'under_attack'
  readonly server_side_excludes?: boolean
  readonly ssl?: 'off' | 'flexible' | 'full' | 'strict' | 'origin_pull'
  readonly sxg?: boolean
  readonly webmcp_enabled?: boolean
  readonly webmcp_packs?: readonly string[]
}

/** The settings of a zone that the proxy applies, and the settings set by rules. Named as on the wire. */
export interface Settings extends ConfigChanges {
  readonly content_converter: boolean
}

/** The origin of a request, as set by rules. */
export interface RouteParams {
  readonly host_header?: string
  readonly origin?: { readonly host?: string; readonly port?: number }
  readonly sni?: { readonly value: string }
}

/** Names of content codings, the preferred one first. */
export type CompressionParams = readonly ('none' | 'auto' | 'default' | 'gzip' | 'brotli' | 'zstd')[]

interface CacheStatusTtl {
  /** Seconds; 0 is no-cache, -1 is no-store. */
  readonly value: number
  readonly status_code?: number
  readonly status_code_range?: { readonly from?: number; readonly to?: number }
}

interface CacheVary {
  readonly action: 'bypass' | 'passthrough' | 'normalize'
}

interface CacheKeyParameters {
  readonly all?: true
  readonly list?: readonly string[]
}

/** The parts of a request that distinguish cached responses of one URL. */
export interface CacheKeySettings {
  readonly cache_by_device_type?: boolean
  readonly cache_deception_armor?: boolean
  readonly custom_key?: {
    readonly cookie?: { readonly check_presence?: readonly string[]; readonly include?: readonly string[] }
    readonly header?: {
      readonly check_presence?: readonly string[]
      readonly contains?: Readonly<Record<string, readonly string[]>>
      readonly exclude_origin?: boolean
      readonly include?: readonly string[]
    }
    readonly host?: { readonly resolved?: boolean }
    readonly query_string?: { readonly include?: CacheKeyParameters; readonly exclude?: CacheKeyParameters }
    readonly user?: { readonly device_type?: boolean; readonly geo?: boolean; readonly lang?: boolean }
  }
  readonly ignore_query_strings_order?: boolean
}

/** Caching of the response to a request, as set by rules. */
export interface CacheSettings {
  readonly additional_cacheable_ports?: readonly number[]
  readonly browser_ttl?: {
    readonly mode: 'respect_origin' | 'bypass_by_default' | 'override_origin' | 'bypass'
    readonly default?: number
  }
  readonly cache?: boolean
  readonly cache_key?: CacheKeySettings
  readonly cache_reserve?: { readonly eligible: boolean; readonly minimum_file_size?: number }
  readonly edge_ttl?: {
    readonly mode: 'respect_origin' | 'bypass_by_default' | 'override_origin'
    readonly default?: number
    readonly status_code_ttl?: readonly CacheStatusTtl[]
  }
  readonly origin_cache_control?: boolean
  readonly origin_error_page_passthru?: boolean
  readonly origin_range_requests?: { readonly mode: 'on' | 'off' | 'default' }
  readonly read_timeout?: number
  readonly respect_strong_etags?: boolean
  readonly serve_stale?: { readonly disable_stale_while_updating?: boolean }
  readonly shared_dictionary?: { readonly match_pattern: string }
  readonly strip_etags?: boolean
  readonly strip_last_modified?: boolean
  readonly strip_set_cookie?: boolean
  readonly vary?: {
    readonly default: CacheVary
    readonly headers?: Readonly<
      Record<string, CacheVary & { readonly media_types?: readonly string[]; readonly languages?: readonly string[] }>
    >
  }
}

/** Additional members of a log record, by name, as one value or a list of values. */
export interface LogFields {
  readonly RequestHeaders: Readonly<Record<string, string>>
  readonly ResponseHeaders: Readonly<Record<string, string | readonly string[]>>
  readonly Cookies: Readonly<Record<string, string>>
}

/**
 * The reason for an error response of the proxy, with its family (`waf`, `ratelimit`, `1xxx`, `5xx`, ...) and 1xxx
 * code, or 0.
 */
export interface EdgeError {
  readonly type: string
  readonly code: number
}

/** Decisions of rules and of the proxy about one request. */
export interface Decisions {
  /** Active for this request. Rules replace the object, they never change it. */
  settings: Settings
  /** Result of origin rules. Undefined if the zone's origin is used. */
  route: RouteParams | undefined
  /** Result of cache rules. */
  cache: CacheSettings | undefined
  /** Algorithms in the order of a compression rule. Undefined if the response is not changed. */
  compression: CompressionParams | undefined
  /** Header fields and cookies for the log record of the request. */
  logFields: LogFields | undefined
  /** The total of scores. Undefined before the first score. */
  score: number | undefined
  /** Undefined if the response is the origin's. */
  edgeError: EdgeError | undefined
}
