import { Type, type Static } from 'typebox'
import { strict } from '../schema.js'
import { kind } from '../store.js'

const onOff = Type.Enum(['on', 'off'])

/** Certificate options of a custom hostname. Stored and returned only. `proxy.tls` selects certificates. */
export const HostnameSsl = Type.Object(
  {
    method: Type.Optional(Type.Enum(['http', 'txt', 'email'], { description: 'Domain control validation.' })),
    type: Type.Optional(Type.Literal('dv')),
    bundle_method: Type.Optional(Type.Enum(['ubiquitous', 'optimal', 'force'])),
    certificate_authority: Type.Optional(Type.Enum(['google', 'lets_encrypt', 'ssl_com'])),
    cloudflare_branding: Type.Optional(Type.Boolean()),
    wildcard: Type.Optional(Type.Boolean()),
    settings: Type.Optional(
      Type.Object(
        {
          ciphers: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
          early_hints: Type.Optional(onOff),
          http2: Type.Optional(onOff),
          min_tls_version: Type.Optional(Type.Enum(['1.0', '1.1', '1.2', '1.3'])),
          tls_1_3: Type.Optional(onOff),
        },
        strict,
      ),
    ),
  },
  strict,
)
export type HostnameSsl = Static<typeof HostnameSsl>

/** A customer's host name that a zone serves. The scope is the zone. The id is a UUID. */
export interface Hostname {
  readonly id: string
  /** Lower case, in ASCII. */
  readonly hostname: string
  readonly custom_metadata?: Readonly<Record<string, string>>
  readonly custom_origin_server?: string
  readonly custom_origin_sni?: string
  readonly ssl?: HostnameSsl & { readonly id: string }
  readonly created_at: string
}
export const HOSTNAME = kind<Hostname>('hostname')

/**
 * The custom hostname that owns a name. A name belongs to at most one zone. The scope is the daemon. The id is the
 * name.
 */
export interface HostnameOwner {
  readonly zone_id: string
  readonly id: string
}
export const HOSTNAME_OWNER = kind<HostnameOwner>('hostname_owner')

/**
 * The origin of custom hostnames that name none themselves. The scope is the zone. The id is
 * {@link FALLBACK_ORIGIN_ID}.
 */
export interface FallbackOrigin {
  /** Host name in lower case, in ASCII. */
  readonly origin: string
  readonly created_at: string
  readonly updated_at: string
}
export const FALLBACK_ORIGIN = kind<FallbackOrigin>('fallback_origin')
export const FALLBACK_ORIGIN_ID = 'only'
