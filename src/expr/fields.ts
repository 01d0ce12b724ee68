import { parseType, type Type } from './types.js'

/** A field of the language as documented. */
export interface FieldInfo {
  readonly name: string
  readonly type: Type
  /** Where the value comes from. `ratelimit_only` fields are characteristics of rate limits and stand in no expression. */
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
  /** Phases that have the field, as `phase` or `phase(member)`; undefined: all. */
  readonly phases?: readonly string[]
  /** True when rules may change what the field is derived from: it is read again between phases. */
  readonly mutable?: boolean
  readonly aliasOf?: string
  readonly deprecated?: boolean
  /** The field of which this is the value as first received. */
  readonly rawOf?: string
}

/** Phases that change requests and answers. */
export const TRANSFORM_PHASES: readonly string[] = [
  'http_request_transform',
  'http_request_late_transform',
  'http_response_headers_transform',
]
const ERROR_PHASES: readonly string[] = ['http_custom_errors', 'http_response_headers_transform']
/** Phases, or members of rules, that run once there is an answer. */
export const RESPONSE_PHASES: readonly string[] = [
  'http_custom_errors',
  'http_response_headers_transform',
  'http_ratelimit(counting_expression)',
  'http_response_compression',
  'http_response_cache_settings',
  'http_response_firewall_managed',
  'http_log_custom_fields',
]

function field(
  name: string,
  type: string,
  group: FieldInfo['group'],
  description: string,
  more: Partial<FieldInfo> = {},
): FieldInfo {
  return { name, type: parseType(type), group, description, ...more }
}

/** Every field of the language. */
export const FIELDS: readonly FieldInfo[] = [
  field('http.cookie', 'String', 'request', 'whole Cookie header value'),
  field(
    'http.host',
    'String',
    'request',
    'Host header of the original client request; origin-rule host overrides do not change it',
  ),
  field('http.referer', 'String', 'request', 'Referer header'),
  field('http.request.full_uri', 'String', 'request', 'scheme, host, path and query of the request, no fragment', {
    mutable: true,
  }),
  field('http.request.method', 'String', 'request', 'method, upper case'),
  field(
    'http.request.cookies',
    'Map<Array<String>>',
    'request',
    'cookies by URL-decoded name; same names after decoding are merged; values untouched',
  ),
  field('http.request.timestamp.sec', 'Integer', 'request', 'unix seconds when the request arrived'),
  field('http.request.timestamp.msec', 'Integer', 'request', 'millisecond part, 0-999'),
  field('http.request.uri', 'String', 'request', 'path plus query string', { mutable: true }),
  field('http.request.uri.path', 'String', 'request', 'path only', { mutable: true }),
  field(
    'http.request.uri.path.extension',
    'String',
    'request',
    'text after the last dot of the last path segment, lower case; empty for dotfiles with one leading dot and for a trailing dot',
    { mutable: true },
  ),
  field('http.request.uri.query', 'String', 'request', 'query string without "?"', { mutable: true }),
  field('http.user_agent', 'String', 'request', 'User-Agent header'),
  field('http.request.version', 'String', 'request', 'protocol version, e.g. HTTP/1.1, HTTP/2, HTTP/3'),
  field('http.x_forwarded_for', 'String', 'request', 'whole X-Forwarded-For header'),
  field('ssl', 'Boolean', 'request', 'client connection is TLS'),
  field(
    'http.request.uri.args',
    'Map<Array<String>>',
    'request',
    'query arguments by name, undecoded, request order kept for repeats',
    { mutable: true },
  ),
  field('http.request.uri.args.names', 'Array<String>', 'request', 'argument names in request order, repeats kept', {
    mutable: true,
  }),
  field('http.request.uri.args.values', 'Array<String>', 'request', 'argument values in request order, repeats kept', {
    mutable: true,
  }),
  field('http.request.headers', 'Map<Array<String>>', 'request', 'headers by lower-case name; repeats in order', {
    mutable: true,
  }),
  field(
    'http.request.headers.names',
    'Array<String>',
    'request',
    'header names in original case, duplicates kept, index-aligned with values',
    { mutable: true },
  ),
  field('http.request.headers.values', 'Array<String>', 'request', 'header values, index-aligned with names', {
    mutable: true,
  }),
  field('http.request.headers.truncated', 'Boolean', 'request', 'too many headers, header fields incomplete'),
  field(
    'http.request.accepted_languages',
    'Array<String>',
    'request',
    'Accept-Language tags by descending q, "*" dropped',
    { phases: TRANSFORM_PHASES },
  ),
  field('http.request.body.raw', 'String', 'request_body', 'request body (possibly cut, see truncated)'),
  field('http.request.body.truncated', 'Boolean', 'request_body', 'body fields hold only a part of the body'),
  field('http.request.body.size', 'Integer', 'request_body', 'full body size in bytes'),
  field('http.request.body.form', 'Map<Array<String>>', 'request_body', 'urlencoded form fields by name, undecoded'),
  field('http.request.body.form.names', 'Array<String>', 'request_body', 'form field names in order'),
  field('http.request.body.form.values', 'Array<String>', 'request_body', 'form field values in order'),
  field('http.request.body.mime', 'String', 'request_body', 'MIME type sniffed from the body'),
  field('http.request.body.multipart', 'Map<Array<String>>', 'request_body', 'multipart values by part name'),
  field('http.request.body.multipart.names', 'Array<Array<String>>', 'request_body', 'part names per part'),
  field('http.request.body.multipart.values', 'Array<String>', 'request_body', 'part values per part'),
  field('http.request.body.multipart.content_types', 'Array<Array<String>>', 'request_body', 'content types per part'),
  field(
    'http.request.body.multipart.content_dispositions',
    'Array<Array<String>>',
    'request_body',
    'content dispositions per part',
  ),
  field(
    'http.request.body.multipart.content_transfer_encodings',
    'Array<Array<String>>',
    'request_body',
    'content transfer encodings per part',
  ),
  field('http.request.body.multipart.filenames', 'Array<Array<String>>', 'request_body', 'filenames per part'),
  field('ip.src', 'IP', 'geo', 'client address (may be corrected from forwarding headers)'),
  field('ip.src.lat', 'String', 'geo', 'latitude'),
  field('ip.src.lon', 'String', 'geo', 'longitude'),
  field('ip.src.city', 'String', 'geo', 'city'),
  field('ip.src.postal_code', 'String', 'geo', 'postal code'),
  field('ip.src.metro_code', 'String', 'geo', 'metro/DMA code'),
  field('ip.src.region', 'String', 'geo', 'region name'),
  field('ip.src.region_code', 'String', 'geo', 'region code'),
  field('ip.src.timezone.name', 'String', 'geo', 'IANA time zone name', { phases: TRANSFORM_PHASES }),
  field('ip.src.asnum', 'Integer', 'geo', 'autonomous system number'),
  field('ip.geoip.asnum', 'Integer', 'geo', 'deprecated alias of ip.src.asnum', {
    aliasOf: 'ip.src.asnum',
    deprecated: true,
  }),
  field('ip.src.continent', 'String', 'geo', 'continent code: AF AN AS EU NA OC SA, T1 for Tor'),
  field('ip.geoip.continent', 'String', 'geo', 'deprecated alias of ip.src.continent', {
    aliasOf: 'ip.src.continent',
    deprecated: true,
  }),
  field('ip.src.country', 'String', 'geo', 'ISO 3166-1 alpha-2 country'),
  field('ip.geoip.country', 'String', 'geo', 'deprecated alias of ip.src.country', {
    aliasOf: 'ip.src.country',
    deprecated: true,
  }),
  field('ip.src.subdivision_1_iso_code', 'String', 'geo', 'ISO 3166-2 first-level region, "" when unknown'),
  field('ip.geoip.subdivision_1_iso_code', 'String', 'geo', 'deprecated alias of ip.src.subdivision_1_iso_code', {
    aliasOf: 'ip.src.subdivision_1_iso_code',
    deprecated: true,
  }),
  field('ip.src.subdivision_2_iso_code', 'String', 'geo', 'ISO 3166-2 second-level region, "" when unknown'),
  field('ip.geoip.subdivision_2_iso_code', 'String', 'geo', 'deprecated alias of ip.src.subdivision_2_iso_code', {
    aliasOf: 'ip.src.subdivision_2_iso_code',
    deprecated: true,
  }),
  field('ip.src.is_in_european_union', 'Boolean', 'geo', 'country is in the EU list'),
  field('ip.geoip.is_in_european_union', 'Boolean', 'geo', 'deprecated alias of ip.src.is_in_european_union', {
    aliasOf: 'ip.src.is_in_european_union',
    deprecated: true,
  }),
  field(
    'raw.http.request.full_uri',
    'String',
    'raw',
    'value of http.request.full_uri as first received, never changed by rules',
    { rawOf: 'http.request.full_uri' },
  ),
  field(
    'raw.http.request.uri',
    'String',
    'raw',
    'value of http.request.uri as first received, never changed by rules',
    { rawOf: 'http.request.uri' },
  ),
  field(
    'raw.http.request.uri.path',
    'String',
    'raw',
    'value of http.request.uri.path as first received, never changed by rules',
    { rawOf: 'http.request.uri.path' },
  ),
  field(
    'raw.http.request.uri.path.extension',
    'String',
    'raw',
    'value of http.request.uri.path.extension as first received, never changed by rules',
    { rawOf: 'http.request.uri.path.extension' },
  ),
  field(
    'raw.http.request.uri.query',
    'String',
    'raw',
    'value of http.request.uri.query as first received, never changed by rules',
    { rawOf: 'http.request.uri.query' },
  ),
  field(
    'raw.http.request.uri.args',
    'Map<Array<String>>',
    'raw',
    'value of http.request.uri.args as first received, never changed by rules',
    { rawOf: 'http.request.uri.args' },
  ),
  field(
    'raw.http.request.uri.args.names',
    'Array<String>',
    'raw',
    'value of http.request.uri.args.names as first received, never changed by rules',
    { rawOf: 'http.request.uri.args.names' },
  ),
  field(
    'raw.http.request.uri.args.values',
    'Array<String>',
    'raw',
    'value of http.request.uri.args.values as first received, never changed by rules',
    { rawOf: 'http.request.uri.args.values' },
  ),
  field('http.response.code', 'Integer', 'response', 'status code going to the client', { phases: RESPONSE_PHASES }),
  field('http.response.headers', 'Map<Array<String>>', 'response', 'response headers by lower-case name', {
    phases: RESPONSE_PHASES,
  }),
  field('http.response.headers.names', 'Array<String>', 'response', 'response header names, original case', {
    phases: RESPONSE_PHASES,
  }),
  field('http.response.headers.values', 'Array<String>', 'response', 'response header values, aligned with names', {
    phases: RESPONSE_PHASES,
  }),
  field(
    'http.response.content_type.media_type',
    'String',
    'response',
    'lower-cased media type of Content-Type without parameters',
    { phases: RESPONSE_PHASES },
  ),
  field('cf.response.1xxx_code', 'Integer', 'response', '1xxx error code, 0 when none', { phases: ERROR_PHASES }),
  field(
    'cf.response.error_type',
    'String',
    'response',
    'error family: managed_challenge, iuam, legacy_challenge, ip_ban, waf, 5xx, 1xxx, always_online, country_challenge, ratelimit, or ""',
    { phases: ERROR_PHASES },
  ),
  field(
    'raw.http.response.headers',
    'Map<Array<String>>',
    'raw',
    'value of http.response.headers as the origin sent it',
    { phases: RESPONSE_PHASES, rawOf: 'http.response.headers' },
  ),
  field(
    'raw.http.response.headers.names',
    'Array<String>',
    'raw',
    'value of http.response.headers.names as the origin sent it',
    { phases: RESPONSE_PHASES, rawOf: 'http.response.headers.names' },
  ),
  field(
    'raw.http.response.headers.values',
    'Array<String>',
    'raw',
    'value of http.response.headers.values as the origin sent it',
    { phases: RESPONSE_PHASES, rawOf: 'http.response.headers.values' },
  ),
  field('cf.edge.server_ip', 'IP', 'cloudflare', 'address the request arrived at'),
  field('cf.edge.server_port', 'Integer', 'cloudflare', 'port the request arrived at'),
  field('cf.edge.client_tcp', 'Boolean', 'cloudflare', 'request came over TCP (not QUIC)'),
  field('cf.edge.l4.delivery_rate', 'Integer', 'cloudflare', 'latest delivery rate to client, bytes/s, 0 when unknown'),
  field('cf.hostname.metadata', 'String', 'cloudflare', 'custom metadata of the custom hostname as JSON text'),
  field('cf.random_seed', 'Bytes', 'cloudflare', 'per-request random bytes'),
  field('cf.ray_id', 'String', 'cloudflare', 'request id'),
  field('cf.threat_score', 'Integer', 'cloudflare', 'always 0 today'),
  field('cf.worker.upstream_zone', 'String', 'cloudflare', 'zone of the calling Worker, "" otherwise'),
  field('cf.tls_cipher', 'String', 'cloudflare', 'client TLS cipher'),
  field('cf.tls_version', 'String', 'cloudflare', 'client TLS version, e.g. TLSv1.2'),
  field('cf.tls_client_hello_length', 'Integer', 'cloudflare', 'ClientHello length'),
  field('cf.tls_client_extensions_sha1', 'String', 'cloudflare', 'TLS handshake fingerprint/value, base64'),
  field('cf.tls_client_extensions_sha1_le', 'String', 'cloudflare', 'TLS handshake fingerprint/value, base64'),
  field('cf.tls_ciphers_sha1', 'String', 'cloudflare', 'TLS handshake fingerprint/value, base64'),
  field('cf.tls_client_random', 'String', 'cloudflare', 'TLS handshake fingerprint/value, base64'),
  field('cf.tls_client_auth.cert_revoked', 'Boolean', 'cloudflare', 'mTLS: certificate revoked; false without mTLS'),
  field('cf.tls_client_auth.cert_verified', 'Boolean', 'cloudflare', 'mTLS: certificate verified; false without mTLS'),
  field(
    'cf.tls_client_auth.cert_presented',
    'Boolean',
    'cloudflare',
    'mTLS: certificate presented; false without mTLS',
  ),
  field('cf.tls_client_auth.cert_issuer_dn', 'String', 'cloudflare', 'mTLS issuer dn; "" without mTLS'),
  field('cf.tls_client_auth.cert_subject_dn', 'String', 'cloudflare', 'mTLS subject dn; "" without mTLS'),
  field('cf.tls_client_auth.cert_issuer_dn_rfc2253', 'String', 'cloudflare', 'mTLS issuer dn rfc2253; "" without mTLS'),
  field(
    'cf.tls_client_auth.cert_subject_dn_rfc2253',
    'String',
    'cloudflare',
    'mTLS subject dn rfc2253; "" without mTLS',
  ),
  field('cf.tls_client_auth.cert_issuer_dn_legacy', 'String', 'cloudflare', 'mTLS issuer dn legacy; "" without mTLS'),
  field('cf.tls_client_auth.cert_subject_dn_legacy', 'String', 'cloudflare', 'mTLS subject dn legacy; "" without mTLS'),
  field('cf.tls_client_auth.cert_serial', 'String', 'cloudflare', 'mTLS serial; "" without mTLS'),
  field('cf.tls_client_auth.cert_issuer_serial', 'String', 'cloudflare', 'mTLS issuer serial; "" without mTLS'),
  field(
    'cf.tls_client_auth.cert_fingerprint_sha256',
    'String',
    'cloudflare',
    'mTLS fingerprint sha256; "" without mTLS',
  ),
  field('cf.tls_client_auth.cert_fingerprint_sha1', 'String', 'cloudflare', 'mTLS fingerprint sha1; "" without mTLS'),
  field('cf.tls_client_auth.cert_not_before', 'String', 'cloudflare', 'mTLS not before; "" without mTLS'),
  field('cf.tls_client_auth.cert_not_after', 'String', 'cloudflare', 'mTLS not after; "" without mTLS'),
  field('cf.tls_client_auth.cert_ski', 'String', 'cloudflare', 'mTLS ski; "" without mTLS'),
  field('cf.tls_client_auth.cert_issuer_ski', 'String', 'cloudflare', 'mTLS issuer ski; "" without mTLS'),
  field('cf.tls_client_auth.cert_rfc9440', 'String', 'cloudflare', 'mTLS rfc9440; "" without mTLS'),
  field('cf.tls_client_auth.cert_chain_rfc9440', 'String', 'cloudflare', 'mTLS chain rfc9440; "" without mTLS'),
  field(
    'cf.tls_client_auth.cert_rfc9440_too_large',
    'Boolean',
    'cloudflare',
    'encoded certificate (10 KiB) or chain (16 KiB) over the limit',
  ),
  field(
    'cf.tls_client_auth.cert_chain_rfc9440_too_large',
    'Boolean',
    'cloudflare',
    'encoded certificate (10 KiB) or chain (16 KiB) over the limit',
  ),
  field('cf.timings.client_tcp_rtt_msec', 'Integer', 'cloudflare', 'smoothed TCP RTT to client, 0 on QUIC'),
  field('cf.timings.client_quic_rtt_msec', 'Integer', 'cloudflare', 'smoothed QUIC RTT, 0 on TCP'),
  field('cf.timings.edge_msec', 'Integer', 'cloudflare', 'time inside the edge'),
  field('cf.timings.origin_ttfb_msec', 'Integer', 'cloudflare', 'origin time to first byte, 0 when served from cache'),
  field('cf.timings.worker_msec', 'Integer', 'cloudflare', 'Worker wall time, 0 without Worker'),
  field('cf.bot_management.verified_bot', 'Boolean', 'detection', 'bot management signal verified_bot'),
  field('cf.bot_management.score', 'Integer', 'detection', 'bot management signal score'),
  field('cf.bot_management.static_resource', 'Boolean', 'detection', 'bot management signal static_resource'),
  field('cf.bot_management.ja3_hash', 'String', 'detection', 'bot management signal ja3_hash'),
  field('cf.bot_management.ja4', 'String', 'detection', 'bot management signal ja4'),
  field('cf.bot_management.js_detection.passed', 'Boolean', 'detection', 'bot management signal js_detection.passed'),
  field('cf.bot_management.detection_ids', 'Array<Integer>', 'detection', 'bot management signal detection_ids'),
  field('cf.bot_management.corporate_proxy', 'Boolean', 'detection', 'bot management signal corporate_proxy'),
  field('cf.bot_management.signed_agent', 'Boolean', 'detection', 'bot management signal signed_agent'),
  field('cf.client.bot', 'Boolean', 'detection', 'known good bot'),
  field('cf.verified_bot_category', 'String', 'detection', 'kind of verified bot'),
  field('cf.api_gateway.auth_id_present', 'Boolean', 'detection', 'API protection signal auth_id_present'),
  field(
    'cf.api_gateway.request_violates_schema',
    'Boolean',
    'detection',
    'API protection signal request_violates_schema',
  ),
  field('cf.api_gateway.fallthrough_detected', 'Boolean', 'detection', 'API protection signal fallthrough_detected'),
  field('cf.schema_validation.learned.violated', 'Boolean', 'detection', 'learned schema violated'),
  field('cf.schema_validation.uploaded.violated', 'Boolean', 'detection', 'uploaded schema violated'),
  field('cf.waf.content_scan.has_obj', 'Boolean', 'detection', 'upload scan has_obj'),
  field('cf.waf.content_scan.has_malicious_obj', 'Boolean', 'detection', 'upload scan has_malicious_obj'),
  field('cf.waf.content_scan.num_malicious_obj', 'Integer', 'detection', 'upload scan num_malicious_obj'),
  field('cf.waf.content_scan.has_failed', 'Boolean', 'detection', 'upload scan has_failed'),
  field('cf.waf.content_scan.num_obj', 'Integer', 'detection', 'upload scan num_obj'),
  field('cf.waf.content_scan.obj_sizes', 'Array<Integer>', 'detection', 'upload scan obj_sizes'),
  field('cf.waf.content_scan.obj_types', 'Array<String>', 'detection', 'upload scan obj_types'),
  field('cf.waf.content_scan.obj_results', 'Array<String>', 'detection', 'upload scan obj_results'),
  field('cf.waf.score', 'Integer', 'detection', 'attack score 1-99, 100 = not scored'),
  field('cf.waf.score.sqli', 'Integer', 'detection', 'attack score for sqli'),
  field('cf.waf.score.xss', 'Integer', 'detection', 'attack score for xss'),
  field('cf.waf.score.rce', 'Integer', 'detection', 'attack score for rce'),
  field('cf.waf.score.class', 'String', 'detection', 'attack, likely_attack, likely_clean, clean'),
  field('cf.waf.auth_detected', 'Boolean', 'detection', 'credentials seen in request'),
  field('cf.waf.credential_check.password_leaked', 'Boolean', 'detection', 'leaked credential check password_leaked'),
  field('cf.waf.credential_check.username_leaked', 'Boolean', 'detection', 'leaked credential check username_leaked'),
  field(
    'cf.waf.credential_check.username_and_password_leaked',
    'Boolean',
    'detection',
    'leaked credential check username_and_password_leaked',
  ),
  field(
    'cf.waf.credential_check.username_password_similar',
    'Boolean',
    'detection',
    'leaked credential check username_password_similar',
  ),
  field('cf.llm.prompt.detected', 'Boolean', 'detection', 'LLM prompt signal detected'),
  field('cf.llm.prompt.pii_detected', 'Boolean', 'detection', 'LLM prompt signal pii_detected'),
  field('cf.llm.prompt.pii_categories', 'Array<String>', 'detection', 'LLM prompt signal pii_categories'),
  field('cf.llm.prompt.unsafe_topic_detected', 'Boolean', 'detection', 'LLM prompt signal unsafe_topic_detected'),
  field(
    'cf.llm.prompt.unsafe_topic_categories',
    'Array<String>',
    'detection',
    'LLM prompt signal unsafe_topic_categories',
  ),
  field('cf.llm.prompt.injection_score', 'Integer', 'detection', 'LLM prompt signal injection_score'),
  field('cf.llm.prompt.token_count', 'Integer', 'detection', 'LLM prompt signal token_count'),
  field(
    'cf.llm.prompt.custom_topic_categories',
    'Map<Integer>',
    'detection',
    'LLM prompt signal custom_topic_categories',
  ),
  field('http.request.jwt.claims.aud', 'Map<Array<String>>', 'detection', 'JWT claim aud by token configuration id'),
  field('http.request.jwt.claims.aud.names', 'Array<String>', 'detection', 'token configuration ids'),
  field('http.request.jwt.claims.aud.values', 'Array<String>', 'detection', 'claim values'),
  field('http.request.jwt.claims.iss', 'Map<Array<String>>', 'detection', 'JWT claim iss by token configuration id'),
  field('http.request.jwt.claims.iss.names', 'Array<String>', 'detection', 'token configuration ids'),
  field('http.request.jwt.claims.iss.values', 'Array<String>', 'detection', 'claim values'),
  field('http.request.jwt.claims.jti', 'Map<Array<String>>', 'detection', 'JWT claim jti by token configuration id'),
  field('http.request.jwt.claims.jti.names', 'Array<String>', 'detection', 'token configuration ids'),
  field('http.request.jwt.claims.jti.values', 'Array<String>', 'detection', 'claim values'),
  field('http.request.jwt.claims.sub', 'Map<Array<String>>', 'detection', 'JWT claim sub by token configuration id'),
  field('http.request.jwt.claims.sub.names', 'Array<String>', 'detection', 'token configuration ids'),
  field('http.request.jwt.claims.sub.values', 'Array<String>', 'detection', 'claim values'),
  field(
    'http.request.jwt.claims.iat.sec',
    'Map<Array<Integer>>',
    'detection',
    'JWT claim iat.sec by token configuration id',
  ),
  field('http.request.jwt.claims.iat.sec.names', 'Array<String>', 'detection', 'token configuration ids'),
  field('http.request.jwt.claims.iat.sec.values', 'Array<Integer>', 'detection', 'claim values'),
  field(
    'http.request.jwt.claims.nbf.sec',
    'Map<Array<Integer>>',
    'detection',
    'JWT claim nbf.sec by token configuration id',
  ),
  field('http.request.jwt.claims.nbf.sec.names', 'Array<String>', 'detection', 'token configuration ids'),
  field('http.request.jwt.claims.nbf.sec.values', 'Array<Integer>', 'detection', 'claim values'),
  field('cf.zone.name', 'String', 'account', 'zone name; used in account-level entry points to select zones'),
  field('cf.zone.plan', 'String', 'account', 'zone plan such as ENT; account-level entry points'),
  field('cf.colo.id', 'String', 'ratelimit_only', 'mandatory rate-limit characteristic; not for expressions'),
  field(
    'cf.unique_visitor_id',
    'String',
    'ratelimit_only',
    'rate-limit characteristic, NAT-aware visitor id; excludes ip.src',
  ),
  field(
    'http.request.jwt.claims',
    'Map<Array<String>>',
    'detection',
    'raw claims JSON by token configuration id (rate-limit characteristic docs)',
  ),
  field('true', 'Boolean', 'constant', 'always true; a bare identifier, not a literal usable on the right-hand side'),
  field('false', 'Boolean', 'constant', 'always false'),
]
