import { Type, type Static } from 'typebox'
import { HostnameSsl } from '../../src/core/model/hostname.js'
import { mapOf, orNull, strict } from '../../src/core/schema.js'
import { paging } from '../http/paging.js'
import { CERTIFICATE_STATUSES } from './certificate-states.js'

/** Maximum bytes of the metadata of one custom hostname, as JSON. */
export const MAX_METADATA_BYTES = 4096

const metadata = mapOf(Type.String({ maxLength: 1024 }), {
  maxProperties: 64,
  description: `Read by expressions as cf.hostname.metadata; at most ${MAX_METADATA_BYTES} bytes of JSON.`,
})
const origin = Type.String({
  minLength: 1,
  maxLength: 255,
  description:
    'Host name of another origin; scheme and port are those of the origin of the zone. Public, or allowed by egress.',
})
const sni = Type.String({
  minLength: 1,
  maxLength: 255,
  description: 'Server name in TLS to that origin, or `:request_host_header:`. Default: the name of the origin.',
})

const changeable = {
  custom_metadata: Type.Optional(orNull(metadata)),
  custom_origin_server: Type.Optional(orNull(origin)),
  custom_origin_sni: Type.Optional(orNull(sni)),
  ssl: Type.Optional(orNull(HostnameSsl)),
}

export const HostnameInput = Type.Object(
  { hostname: Type.String({ minLength: 1, maxLength: 255, description: 'The customer’s host name.' }), ...changeable },
  strict,
)

/** Omitted members stay unchanged, null removes one, `custom_metadata` is replaced, members of `ssl` are merged. */
export const HostnameChange = Type.Object(changeable, strict)
export type HostnameChange = Static<typeof HostnameChange>

export const HostnameResult = Type.Object({
  id: Type.String(),
  hostname: Type.String(),
  status: Type.Literal('active'),
  created_at: Type.String({ format: 'date-time' }),
  custom_metadata: Type.Optional(metadata),
  custom_origin_server: Type.Optional(origin),
  custom_origin_sni: Type.Optional(sni),
  ssl: Type.Optional(
    Type.Object({
      ...HostnameSsl.properties,
      id: Type.String(),
      status: Type.Enum([...CERTIFICATE_STATUSES]),
      hosts: Type.Array(Type.String()),
      issuer: Type.Optional(Type.String()),
      serial_number: Type.Optional(Type.String()),
      uploaded_on: Type.Optional(Type.String({ format: 'date-time' })),
      expires_on: Type.Optional(Type.String({ format: 'date-time' })),
      validation_errors: Type.Optional(Type.Array(Type.Object({ message: Type.String() }))),
    }),
  ),
  verification_errors: Type.Array(Type.String()),
})

const STATUSES = [
  'active pending active_redeploying moved pending_deletion deleted pending_blocked pending_migration',
  'pending_provisioned test_pending test_active test_active_apex test_blocked test_failed provisioned',
  'blocked',
].flatMap((line) => line.split(' '))
const SSL_STATUSES = [
  'initializing pending_validation deleted pending_issuance pending_deployment pending_deletion',
  'pending_expiration expired active initializing_timed_out validation_timed_out issuance_timed_out',
  'deployment_timed_out deletion_timed_out pending_cleanup staging_deployment staging_active deactivating',
  'inactive backup_issued holding_deployment',
].flatMap((line) => line.split(' '))

const name = Type.Optional(Type.String({ maxLength: 255 }))

export const HostnameQuery = Type.Object({
  ...paging({ min: 5, max: 50 }),
  hostname: name,
  'hostname.exact': name,
  'hostname.contain': name,
  'hostname.startsWith': name,
  id: Type.Optional(Type.String({ minLength: 36, maxLength: 36 })),
  ssl: Type.Optional(Type.Integer({ minimum: 0, maximum: 1, description: '1: with an ssl object, 0: without.' })),
  ssl_status: Type.Optional(Type.Enum(SSL_STATUSES)),
  hostname_status: Type.Optional(Type.Enum(STATUSES)),
  custom_origin_server: name,
  certificate_authority: Type.Optional(Type.Enum(['google', 'lets_encrypt', 'ssl_com'])),
  wildcard: Type.Optional(Type.Boolean()),
  order: Type.Enum(['ssl', 'ssl_status'], { default: 'ssl' }),
  direction: Type.Enum(['asc', 'desc'], { default: 'asc' }),
})
export type HostnameQuery = Static<typeof HostnameQuery>
