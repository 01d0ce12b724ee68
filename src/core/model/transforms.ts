import { kind } from '../store.js'

/** Managed transforms of a zone. The scope is the zone. The id is {@link TRANSFORM_ID}. */
export interface StoredTransforms {
  /** Ids of the enabled transforms. */
  readonly enabled: readonly string[]
}
export const MANAGED_TRANSFORMS = kind<StoredTransforms>('managed_transforms')

/** Normalization of the path of a request (RFC 3986, 6.2.2). The scope is the zone. The id is {@link TRANSFORM_ID}. */
export interface UrlNormalization {
  /** `incoming` is for rules and Workers. `both` is also for the origin. */
  readonly scope: 'none' | 'incoming' | 'both'
  /** `cloudflare` also converts backslashes to slashes, and several slashes in a row to one. */
  readonly type: 'cloudflare' | 'rfc3986'
}
export const URL_NORMALIZATION = kind<UrlNormalization>('url_normalization')

/** Applies to zones for which nothing else is stored. */
export const NORMALIZATION: UrlNormalization = { scope: 'incoming', type: 'cloudflare' }

export const TRANSFORM_ID = 'only'

/** A managed transform that the API lists. */
export interface ManagedTransform {
  readonly id: string
  readonly of: 'request' | 'response'
  /** Ids of transforms that cannot be enabled at the same time. */
  readonly conflicts?: readonly string[]
  /** Stored, without effect here. */
  readonly inert?: true
}

/** The managed transforms of the public API. */
export const TRANSFORMS: readonly ManagedTransform[] = [
  { id: 'add_bot_protection_headers', of: 'request' },
  // Client certificates and leaked credentials are not checked here.
  { id: 'add_client_certificate_headers', of: 'request', inert: true },
  { id: 'add_visitor_location_headers', of: 'request' },
  { id: 'add_true_client_ip_headers', of: 'request', conflicts: ['remove_visitor_ip_headers'] },
  { id: 'add_waf_credential_check_status_header', of: 'request', inert: true },
  { id: 'remove_visitor_ip_headers', of: 'request', conflicts: ['add_true_client_ip_headers'] },
  { id: 'remove_x-powered-by_header', of: 'response' },
  { id: 'add_security_headers', of: 'response' },
]
