import { parseType, type Type } from '../language/types.js'

/** A field of the language as documented. */
export interface FieldInfo {
  readonly name: string
  readonly type: Type
  /** Source of the value. `ratelimit_only` fields are characteristics of rate limits and not allowed in expressions. */
  readonly group:
    | 'request'
    | 'request_body'
    | 'geo'
    | 'raw'
    | 'response'
    | 'cloudflare'
    | 'detection'
    | 'account'
    | 'ratelimit_only'
    | 'constant'
  readonly description: string
  /** Phases that have the field, as `phase` or `phase(member)`. Undefined if all phases have it. */
  readonly phases?: readonly string[]
  /** True if rules can change the source of the field, which is then read again between phases. */
  readonly mutable?: boolean
  readonly aliasOf?: string
  readonly deprecated?: boolean
  /** The field whose originally received value this is. */
  readonly rawOf?: string
}

/** Phases that change requests and responses. */
export const TRANSFORM_PHASES: readonly string[] = [
  'http_request_transform',
  'http_request_late_transform',
  'http_response_headers_transform',
]
/** Phases that can read the error. */
export const ERROR_PHASES: readonly string[] = ['http_custom_errors', 'http_response_headers_transform']
/** Phases, or members of rules, that run after the response exists. */
export const RESPONSE_PHASES: readonly string[] = [
  'http_custom_errors',
  'http_response_headers_transform',
  'http_ratelimit(counting_expression)',
  'http_response_compression',
  'http_response_cache_settings',
  'http_response_firewall_managed',
  'http_log_custom_fields',
]

/** Returns a row of the table of fields. */
export function field(
  name: string,
  type: string,
  group: FieldInfo['group'],
  description: string,
  more: Partial<FieldInfo> = {},
): FieldInfo {
  return { name, type: parseType(type), group, description, ...more }
}
