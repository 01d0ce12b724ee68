import { Type, type TSchema } from 'typebox'
import type { ZoneConfig } from '../../src/config/schema.js'
import { ZoneSettingValues } from '../../src/core/model/zone-settings.js'
import { issuesOf, strict } from '../../src/core/schema.js'
import type { Issue } from '../../src/core/errors.js'

/** A setting of zones. */
export interface SettingType {
  readonly id: string
  readonly schema: TSchema
  /** Applies until the API sets another value. */
  readonly initial: (zone: ZoneConfig) => unknown
  readonly editable: (zone: ZoneConfig, hasCustomHostnames: boolean) => boolean
  /** Returns whether this value changes how requests are served; false: it is stored only. */
  readonly hasEffect: (value: unknown) => boolean
  /** Whether edged acts on the setting at all. */
  readonly acts: boolean
  /** Returns the issues of `{ value }`. */
  readonly issues: (input: unknown) => readonly Issue[]
}

const ONOFF = Type.Enum(['on', 'off'])
const LEVELS = Type.Enum(['off', 'essentially_off', 'low', 'medium', 'high', 'under_attack'])
const Seconds = (max: number) => Type.Integer({ minimum: 0, maximum: max })

const setting = (
  id: string,
  schema: TSchema,
  initial: (zone: ZoneConfig) => unknown,
  {
    editable = () => true,
    hasEffect = () => true,
    acts = true,
  }: Partial<Pick<SettingType, 'editable' | 'hasEffect' | 'acts'>> = {},
): SettingType => ({
  id,
  schema,
  initial,
  editable,
  hasEffect,
  acts,
  issues: issuesOf(Type.Object({ value: schema })),
})

/** A setting that is stored and returned, without effect. */
const inert = (id: string, schema: TSchema, initial: unknown): SettingType =>
  setting(id, schema, () => initial, { hasEffect: () => false, acts: false })

/** A setting that the configuration file can set too. */
const configured = (
  id: keyof typeof ZoneSettingValues,
  initial: (zone: ZoneConfig) => unknown,
  options: Partial<Pick<SettingType, 'hasEffect'>> = {},
): SettingType => setting(id, ZoneSettingValues[id], (zone) => zone.settings[id] ?? initial(zone), options)

const NO_SECURITY_HEADER = {
  strict_transport_security: { enabled: false, max_age: 0, include_subdomains: false, preload: false, nosniff: false },
}

/** Settings that act on requests. */
const ACTING: readonly SettingType[] = [
  setting('content_converter', ONOFF, (zone) => zone.settings.content_converter, {
    editable: (zone) => zone.plan !== 'free',
  }),
  // Not in the public API, which has no endpoint for it.
  setting('edged_custom_hostnames', Type.Enum(['selected', 'all']), (zone) => zone.custom_hostnames, {
    editable: (zone, hasCustomHostnames) => zone.plan !== 'free' || hasCustomHostnames,
  }),
  setting('security_level', LEVELS, () => 'medium', {
    hasEffect: (value) => value === 'off' || value === 'essentially_off',
  }),
  setting('always_online', ONOFF, () => 'off'),
  setting('browser_cache_ttl', Seconds(31_536_000), () => 0),
  setting('cache_level', Type.Enum(['aggressive', 'basic', 'simplified']), () => 'aggressive'),
  setting('development_mode', ONOFF, () => 'off'),
  setting('sort_query_string_for_cache', ONOFF, () => 'off'),
  configured('always_use_https', () => 'off'),
  configured('http2', () => 'on'),
  configured('min_tls_version', () => '1.2', { hasEffect: (value) => value === '1.2' || value === '1.3' }),
  configured('security_header', () => NO_SECURITY_HEADER),
  configured('ssl', ({ origin, origins }) =>
    (origin ?? origins?.[0]?.url)?.startsWith('https:') ? 'strict' : 'flexible',
  ),
  configured('websockets', ({ websockets }) => (websockets ? 'on' : 'off')),
]

const AEGIS = Type.Object(
  { enabled: Type.Optional(Type.Boolean()), pool_id: Type.Optional(Type.String({ maxLength: 64 })) },
  strict,
)
const PLATFORM_OPTIMIZATION = Type.Object(
  {
    cache_by_device_type: Type.Boolean(),
    cf: Type.Boolean(),
    enabled: Type.Boolean(),
    hostnames: Type.Array(Type.String({ maxLength: 253 }), { maxItems: 100 }),
    wordpress: Type.Boolean(),
    wp_plugin: Type.Boolean(),
  },
  strict,
)
const NO_PLATFORM_OPTIMIZATION = {
  cache_by_device_type: false,
  cf: false,
  enabled: false,
  hostnames: [],
  wordpress: false,
  wp_plugin: false,
}

/** Settings without effect here. A setting that gets an effect loses its row here and gets one above. */
const INERT: readonly SettingType[] = [
  inert('0rtt', ONOFF, 'off'),
  inert('advanced_ddos', ONOFF, 'off'),
  inert('aegis', AEGIS, { enabled: false }),
  inert('automatic_https_rewrites', ONOFF, 'off'),
  inert('automatic_platform_optimization', PLATFORM_OPTIMIZATION, NO_PLATFORM_OPTIMIZATION),
  inert('brotli', ONOFF, 'off'),
  inert('browser_check', ONOFF, 'off'),
  inert('challenge_ttl', Seconds(31_536_000), 1800),
  inert('china_network_enabled', ONOFF, 'off'),
  inert('ciphers', Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 }), []),
  inert('cname_flattening', Type.Enum(['flatten_at_root', 'flatten_all']), 'flatten_at_root'),
  inert('early_hints', ONOFF, 'off'),
  inert('edge_cache_ttl', Type.Integer({ minimum: 30, maximum: 31_536_000 }), 7200),
  inert('email_obfuscation', ONOFF, 'off'),
  inert('fonts', ONOFF, 'off'),
  inert('h2_prioritization', Type.Enum(['on', 'off', 'custom']), 'off'),
  inert('hotlink_protection', ONOFF, 'off'),
  inert('http3', ONOFF, 'off'),
  inert('image_resizing', Type.Enum(['on', 'off', 'open']), 'off'),
  inert('ip_geolocation', ONOFF, 'off'),
  inert('ipv6', ONOFF, 'off'),
  inert('max_upload', Type.Integer({ minimum: 1, maximum: 5000 }), 100),
  inert('mirage', ONOFF, 'off'),
  inert('nel', Type.Object({ enabled: Type.Boolean() }, strict), { enabled: false }),
  inert('opportunistic_encryption', ONOFF, 'off'),
  inert('opportunistic_onion', ONOFF, 'off'),
  inert('orange_to_orange', ONOFF, 'off'),
  inert('origin_error_page_pass_thru', ONOFF, 'off'),
  inert('origin_h2_max_streams', Type.Integer({ minimum: 1, maximum: 1000 }), 200),
  inert('origin_max_http_version', Type.Enum(['1', '2']), '1'),
  inert('polish', Type.Enum(['off', 'lossless', 'lossy']), 'off'),
  inert('pre_render', ONOFF, 'off'),
  inert('prefetch_preload', ONOFF, 'off'),
  inert('privacy_pass', ONOFF, 'off'),
  inert('proxy_read_timeout', Type.Integer({ minimum: 1, maximum: 6000 }), 100),
  inert('pseudo_ipv4', Type.Enum(['off', 'add_header', 'overwrite_header']), 'off'),
  inert('redirects_for_ai_training', ONOFF, 'off'),
  inert('replace_insecure_js', ONOFF, 'off'),
  inert('response_buffering', ONOFF, 'off'),
  inert('rocket_loader', ONOFF, 'off'),
  inert('search_for_agents', ONOFF, 'off'),
  inert('server_side_exclude', ONOFF, 'off'),
  inert('sha1_support', ONOFF, 'off'),
  inert('speed_brain', ONOFF, 'off'),
  inert('ssl_recommender', ONOFF, 'off'),
  inert('tls_1_2_only', ONOFF, 'off'),
  inert('tls_1_3', Type.Enum(['on', 'off', 'zrt']), 'on'),
  inert('tls_client_auth', ONOFF, 'off'),
  inert('transformations', Type.Enum(['on', 'off', 'open']), 'off'),
  inert('transformations_allowed_origins', Type.String({ maxLength: 4096 }), ''),
  inert('true_client_ip_header', ONOFF, 'off'),
  inert('waf', ONOFF, 'off'),
  inert('webmcp_enabled', ONOFF, 'off'),
  inert('webmcp_packs', Type.String({ maxLength: 4096 }), ''),
  inert('webp', ONOFF, 'off'),
]

/** Every setting of zones, by its id. */
export const SETTINGS: ReadonlyMap<string, SettingType> = new Map([...ACTING, ...INERT].map((type) => [type.id, type]))
