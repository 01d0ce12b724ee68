import { kind } from '../store.js'

/** Managed transforms of a zone. Scope: the zone; id: {@link TRANSFORM_ID}. */
export interface StoredTransforms {
  /** Ids of those that are on. */
  readonly enabled: readonly string[]
}
export const MANAGED_TRANSFORMS = kind<StoredTransforms>('managed_transforms')

/** How the path of a request is normalized (RFC 3986, 6.2.2). Scope: the zone; id: {@link TRANSFORM_ID}. */
export interface UrlNormalization {
  /** incoming: for rules and Workers. both: also for the origin. */
  readonly scope: 'none' | 'incoming' | 'both'
  /** cloudflare: also backslashes become slashes, and slashes in a row become one. */
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
  /** Ids of those that cannot be on at the same time. */
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
