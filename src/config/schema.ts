import { Type, type Static } from 'typebox'
import { LIST_KINDS } from '../core/model/list.js'
import { ZoneSettingValues } from '../core/model/zone-settings.js'
import { strict } from '../core/schema.js'
import { Telemetry } from './telemetry.js'

import { Cache, ZoneCache } from './cache.js'
import { Egress } from './egress.js'
import { Logpush } from './logpush.js'
import { Machines } from './machines.js'
import { ORIGIN_OPTIONS } from './origins.js'
import type { Pipeline } from './pipeline.js'
import { Duration, Size } from './units.js'
import { ControlTls, ProxyTls } from './tls.js'
import { Webhooks } from './webhooks.js'
import { Workers } from './workers.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'

const Id = (example: string, description: string) =>
  Type.String({
    pattern: '^[0-9a-f]{32}$',
    description,
    examples: [example],
    'x-message': 'must be 32 digits of 0-9 and a-f',
  })

const Listen = (byDefault: string, description: string) =>
  Type.String({
    pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):\\d{1,5}$',
    default: byDefault,
    description,
    'x-message': 'must be an address and a port, as in 127.0.0.1:8080',
  })

/** An address that may also be a unix socket. */
const LocalListen = (byDefault: string, description: string) =>
  Type.String({
    pattern: '^((\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):\\d{1,5}|unix:/\\S+)$',
    default: byDefault,
    description: `${description} unix:/PATH is a unix socket for its owner and group.`,
    'x-message': 'must be an address and a port, as in 127.0.0.1:8080, or unix:/PATH',
  })

const Count = (byDefault: number, description: string) => Type.Integer({ minimum: 0, default: byDefault, description })

const ProxyLimits = Type.Object(
  {
    header_bytes: Size('16KiB', 'Request line and header fields of one request; larger ones get 431.'),
    header_count: Count(128, 'Header fields of one request; more get 431.'),
    header_timeout: Duration('10s', 'For all of the header fields to arrive.'),
    request_timeout: Duration('5m', 'For the whole request, body included, to arrive.'),
    keep_alive_timeout: Duration('75s', 'An idle connection stays open for this long.'),
    write_timeout: Duration(
      '60s',
      'A client that takes nothing of its response for this long is disconnected, no matter what it sends. 0: no limit.',
    ),
    min_rate: Size(
      '1KiB',
      'Bytes per second. A request body that arrives slower for 10s gets 408; a client that takes a response slower for ' +
        'write_timeout is disconnected. 0B: no limit.',
    ),
    connections: Count(10_000, 'Open client connections; more are closed immediately.'),
    connections_per_address: Count(
      1000,
      'Open connections of one client address; more are closed immediately. Trusted proxies are not counted. 0: no limit.',
    ),
    body_bytes: Size('0B', 'Request body; larger ones get 413. 0B: no limit.'),
  },
  { ...strict, default: {}, description: 'What a client may send and hold open.' },
)

const OriginLimits = Type.Object(
  {
    connect_timeout: Duration('5s', 'For the connection to an origin, TLS included.'),
    headers_timeout: Duration('60s', 'From the end of the request to the header fields of the response.'),
    body_timeout: Duration('100s', 'Between two reads of the response.'),
    keep_alive_timeout: Duration('4s', 'An idle connection to an origin stays open for this long.'),
    queue_timeout: Duration('30s', 'Maximum time that a request waits for a connection. Then it gets 503.'),
    header_bytes: Size('64KiB', 'Header fields of one response; larger ones become 502.'),
    connections: Type.Integer({ minimum: 1, default: 256, description: 'Open connections to one origin.' }),
    queue_size: Count(4096, 'Maximum requests that wait for a connection to one origin. More get 503.'),
  },
  { ...strict, default: {}, description: 'What an origin may take.' },
)

const AccessLog = Type.Object(
  {
    format: Type.Union([Type.Literal('json'), Type.Literal('combined')], {
      default: 'json',
      description: 'json: one object per line. combined: the format of Apache and nginx.',
    }),
    file: Type.String({
      minLength: 1,
      default: '-',
      description: 'Path of the file, which is opened again on SIGHUP. "-" is standard output.',
    }),
    sample: Type.Number({
      minimum: 0,
      maximum: 1,
      default: 1,
      description: 'Share of requests that are written, chosen at random. Responses of 500 and above always are.',
    }),
  },
  {
    ...strict,
    description: 'Access log with one line per request to the proxy. Without this section nothing is written.',
  },
)

const Challenge = Type.Object(
  {
    difficulty: Type.Integer({
      minimum: 8,
      maximum: 24,
      default: 17,
      description: 'A browser makes 2 to the power of this many attempts, on average: 17 takes well under a second.',
    }),
    clearance_lifetime: Duration('30m', 'Time during which a visitor who passed is not challenged again.'),
  },
  { ...strict, default: {}, description: 'What challenge rules ask of a visitor.' },
)

const Proxy = Type.Object(
  {
    listen: Listen('127.0.0.1:8080', 'Address of the reverse proxy. Port 0 takes a free one.'),
    tls: Type.Optional(ProxyTls),
    trusted_proxies: Type.Array(Type.String(), {
      default: [],
      description: 'CIDRs whose X-Forwarded-For and X-Forwarded-Proto are believed.',
    }),
    proxy_protocol: Type.Boolean({
      default: false,
      description:
        'Connections of trusted_proxies begin with a PROXY header, version 1 or 2, and are closed without one. The client ' +
        'address is taken from it. Other peers connect without a header.',
    }),
    trusted_fields: Type.Record(
      Type.String(),
      Type.String({ pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", 'x-message': 'must be the name of a header field' }),
      {
        default: {},
        description:
          'Fields of the rules language that trusted proxies send in header fields, as in ' +
          '{ cf.bot_management.score: x-bot-score }. Everyone else has these header fields removed.',
      },
    ),
    rules_body: Type.Object(
      {
        bytes: Size(
          '128KiB',
          'The beginning of a request body that rules can read, 1MiB at most; the rest streams past them.',
        ),
        memory: Size(
          '64MB',
          'For the bodies that rules read, all requests together; beyond it rules see less of a body, as truncated.',
        ),
      },
      { ...strict, default: {}, description: 'Request bodies are held back only where a rule in force reads them.' },
    ),
    shutdown_delay: Duration(
      '0s',
      'After SIGTERM /readyz responds with 503 and the proxy continues for this long, so that a load balancer in front ' +
        'notices before the drain begins.',
    ),
    drain_timeout: Duration('30s', 'Time that requests in progress have to finish after SIGTERM.'),
    limits: ProxyLimits,
    origin: OriginLimits,
    max_rate_limit_keys: Type.Integer({
      minimum: 1,
      default: 1_000_000,
      description:
        'Keys that rate limits count, all rules together; a key is held once for each quarter of its period. Further ' +
        'keys share counters: they may be stopped too early, never too late.',
    }),
    challenge: Challenge,
    buffer_memory: Size(
      '128MB',
      'Buffers of all requests together for slow clients: the first 64 KiB of a request body before a connection to the ' +
        'origin is used, and the last 256 KiB of a response so that the connection is free again. Beyond it the ' +
        'connection waits for the client.',
    ),
    markdown_memory: Size(
      '256MB',
      'For pages held back until their size is known, all requests together; beyond it a request gets the HTML.',
    ),
  },
  { ...strict, default: {}, description: 'The reverse proxy.' },
)

const Zone = Type.Object(
  {
    id: Id(ZONE, 'Identifier of the zone.'),
    account: Id(ACCOUNT, 'Identifier of its account.'),
    name: Type.String({ minLength: 1, maxLength: 253, description: 'Domain name.', examples: ['example.com'] }),
    hostnames: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
        minItems: 1,
        description:
          'Host names served, `*.` allowed in front. "*" serves every host that no other zone names. Default: the name and ' +
          'every subdomain.',
        examples: [['example.com', '*.example.com']],
      }),
    ),
    ...ORIGIN_OPTIONS,
    origin_ca_file: Type.Optional(
      Type.String({
        description: 'PEM file of the authority that signs an https origin, added to the default ones.',
        examples: ['./origin-ca.pem'],
      }),
    ),
    client_ca_file: Type.Optional(
      Type.String({
        description:
          'PEM file of the authorities that sign certificates of clients. Clients are then asked for a certificate over ' +
          'HTTPS, and rules read it in cf.tls_client_auth.*; without a rule, requests pass with any certificate and without.',
        examples: ['./client-ca.pem'],
      }),
    ),
    plan: Type.Union(
      [Type.Literal('free'), Type.Literal('pro'), Type.Literal('business'), Type.Literal('enterprise')],
      { default: 'pro', description: 'Free zones have no Markdown conversion.' },
    ),
    settings: Type.Object(
      {
        content_converter: Type.Union([Type.Literal('on'), Type.Literal('off')], {
          default: 'off',
          description:
            'Convert HTML responses to Markdown if the client accepts it. In force until the API sets another value.',
        }),
        ...Type.Partial(Type.Object(ZoneSettingValues)).properties,
      },
      { ...strict, default: {}, description: 'Settings of the zone. In force until the API sets other values.' },
    ),
    negotiation: Type.Union([Type.Literal('listed'), Type.Literal('preferred')], {
      default: 'listed',
      description: 'preferred: Markdown only if its quality is not below that of text/html.',
    }),
    markdown: Type.Object(
      {
        content: Type.Union([Type.Literal('page'), Type.Literal('main')], {
          default: 'page',
          description:
            'page: the body without headers, footers and navigation. main: only the main content; the whole page if it cannot be recognized. Buffers up to 64 KB of Markdown per page in proxy.markdown_memory.',
        }),
        md_addresses: Type.Boolean({
          default: false,
          description: 'Serve the Markdown of /page at /page.md and of / at /index.md, if content_converter is on.',
        }),
        llms_txt: Type.Union([Type.Literal('off'), Type.Literal('front_page'), Type.Literal('sitemap')], {
          default: 'off',
          description:
            'Create /llms.txt from the links of the front page or from /sitemap.xml, if content_converter is on. off: the file of the origin.',
        }),
      },
      { ...strict, default: {}, description: 'Conversion to Markdown.' },
    ),
    websockets: Type.Boolean({ default: true, description: 'Pass WebSocket upgrades through to the origin.' }),
    cache: ZoneCache,
    custom_hostnames: Type.Union([Type.Literal('selected'), Type.Literal('all')], {
      default: 'selected',
      description:
        'all: conversion is on for every custom hostname of the zone, with any metadata. In force until the API sets ' +
        'edged_custom_hostnames.',
    }),
  },
  strict,
)

const Access = {
  permissions: Type.Array(Type.String({ minLength: 1 }), {
    description: 'Names of permissions, or "*".',
    examples: [['Zone Settings Write']],
  }),
  accounts: Type.Array(Type.String({ minLength: 1 }), { default: ['*'], description: 'Account ids, or "*".' }),
  zones: Type.Array(Type.String({ minLength: 1 }), {
    default: ['*'],
    description: 'Zone ids, or "*" for all zones of the accounts.',
  }),
}

const Database = (example: string, description: string) =>
  Type.Optional(Type.String({ minLength: 1, description, examples: [example] }))

const Geo = Type.Object(
  {
    city_file: Database('./GeoLite2-City.mmdb', 'For all fields but the number of the autonomous system.'),
    country_file: Database('./GeoLite2-Country.mmdb', 'For country and continent without a city_file.'),
    asn_file: Database('./GeoLite2-ASN.mmdb', 'For the number of the autonomous system.'),
  },
  {
    ...strict,
    default: {},
    description:
      'Databases in MaxMind format with the places of addresses; read again on SIGHUP. None: the fields are not known.',
  },
)

const ListItem = Type.Union([Type.String(), Type.Integer(), Type.Object({})])

/** The configuration file of the daemon. */
export const ConfigFile = Type.Object(
  {
    data: Type.String({ default: './data', description: 'Folder of the embedded store, the spool and blobs.' }),
    store: Type.String({
      default: 'embedded',
      pattern: '^(embedded|memory|rediss?(\\+sentinel|\\+cluster)?://.+)$',
      description:
        'embedded; if several machines share the work: redis://host:6379/0, rediss:// with TLS, ' +
        'redis+sentinel://host1,host2/NAME/0 or redis+cluster://host1,host2.',
      'x-message': 'must be embedded or a redis:// URL',
    }),
    secrets: Type.Object(
      {
        key_file: Type.Optional(
          Type.String({
            description:
              'Key for secrets at rest; made when absent. Default: secret.key inside data. A new key is a new first line; the old ones follow, one per line, until edged status says that nothing needs them.',
            examples: ['./data/secret.key'],
          }),
        ),
        key: Type.Optional(
          Type.String({
            description: 'The key itself: 64 hexadecimal digits or 44 of base64.',
            examples: ['${EDGED_SECRET_KEY}'],
          }),
        ),
        old_keys: Type.Optional(
          Type.Array(Type.String(), {
            description:
              'Former keys: secrets that they encrypted can still be read, until all are encrypted with the new key; edged status says when.',
            examples: [['${EDGED_OLD_KEY}']],
          }),
        ),
      },
      { ...strict, default: {}, description: 'Secrets at rest are encrypted with AES-256-GCM.' },
    ),
    machines: Machines,
    log: Type.Object(
      {
        level: Type.Union(
          ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].map((level) => Type.Literal(level)),
          { default: 'info', description: 'The least level that is written.' },
        ),
      },
      { ...strict, default: {}, description: 'Log lines on standard output.' },
    ),
    access_log: Type.Optional(AccessLog),
    processes: Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 1, maximum: 256 })], {
      default: 1,
      description:
        'Processes that serve clients of the proxy; auto: one per core. With more than 1 the daemon keeps the store, ' +
        'the API, log push, deliveries and Workers, and each process gets its share of the limits on memory and ' +
        'connections, rounded up; connections_per_address holds in each process.',
      'x-message': 'must be auto or a number from 1 to 256',
    }),
    proxy: Proxy,
    control: Type.Object(
      {
        listen: LocalListen('127.0.0.1:8787', 'Address of the API.'),
        tls: Type.Optional(ControlTls),
        rate_limit: Type.Object(
          {
            requests: Count(1200, 'Requests of one token per period. 0: no limit.'),
            period: Duration('5m', 'The period.'),
          },
          { ...strict, default: {}, description: 'Requests of one token.' },
        ),
        quotas: Type.Object(
          {
            rulesets_per_scope: Count(500, 'Rulesets of one account or zone.'),
            rules_per_ruleset: Count(1000, 'Rules of one ruleset.'),
            ruleset_versions: Count(50, 'Older versions kept of one ruleset; the oldest go first.'),
            lists_per_account: Count(100, 'Named lists of one account, besides those of this file.'),
            items_per_list: Count(200_000, 'Items of one list.'),
            zones_per_account: Count(100, 'Zones of one account created through the API, besides those of this file.'),
            custom_hostnames_per_zone: Count(50_000, 'Custom hostnames of one zone.'),
          },
          { ...strict, default: {}, description: 'What may be stored.' },
        ),
      },
      { ...strict, default: {}, description: 'The API.' },
    ),
    admin: Type.Object(
      {
        listen: LocalListen(
          '127.0.0.1:9901',
          'Address of /livez, /readyz, /metrics, /status and /reload. Never public.',
        ),
      },
      { ...strict, default: {}, description: 'For operators and their monitoring.' },
    ),
    geo: Geo,
    accounts: Type.Array(
      Type.Object(
        {
          id: Id(ACCOUNT, 'Identifier of the account.'),
          name: Type.String({ minLength: 1, maxLength: 100, description: 'Display name.', examples: ['Example'] }),
        },
        strict,
      ),
      { default: [], description: 'Accounts.', 'x-shown': true },
    ),
    zones: Type.Array(Zone, { default: [], description: 'Zones: the sites served.', 'x-shown': true }),
    tokens: Type.Array(
      Type.Object(
        {
          name: Type.String({ minLength: 1, maxLength: 120, description: 'Display name.', examples: ['admin'] }),
          token: Type.String({
            minLength: 20,
            description: 'The token; best taken from the environment.',
            examples: ['${EDGED_ADMIN_TOKEN}'],
          }),
          ...Access,
        },
        strict,
      ),
      { default: [], description: 'API tokens; `edged token create` makes more.', 'x-shown': true },
    ),
    legacy_keys: Type.Array(
      Type.Object(
        {
          email: Type.String({
            minLength: 3,
            maxLength: 254,
            description: 'Value of X-Auth-Email.',
            examples: ['admin@example.com'],
          }),
          key: Type.String({
            minLength: 20,
            description: 'Value of X-Auth-Key.',
            examples: ['${EDGED_LEGACY_KEY}'],
          }),
          ...Access,
        },
        strict,
      ),
      { default: [], description: 'X-Auth-Email and X-Auth-Key pairs. None: the pair is off.' },
    ),
    lists: Type.Array(
      Type.Object(
        {
          name: Type.String({
            pattern: '^[a-z0-9_]{1,50}$',
            description: 'Expressions use it as $name.',
            examples: ['office'],
          }),
          kind: Type.Enum([...LIST_KINDS], {
            description: 'What its items are: ip, hostname, asn or redirect.',
            examples: ['ip'],
          }),
          items: Type.Array(ListItem, {
            default: [],
            description: 'Texts and numbers, or objects as the Lists API has them.',
          }),
        },
        strict,
      ),
      { default: [], description: 'Named lists for expressions.' },
    ),
    cache: Cache,
    logpush: Logpush,
    egress: Egress,
    webhooks: Webhooks,
    telemetry: Telemetry,
    workers: Workers,
    // Validated by `readPipelines`, which has more detailed messages.
    pipelines: Type.Array(Type.Unknown({ description: 'A pipeline.' }), {
      default: [],
      examples: [
        [
          {
            name: 'requests',
            source: { zone: '9f1839b6152d298aca64c4e906b6d074' },
            dataset: 'http_requests',
            destination_conf: 'file:logs/{DATE}',
          },
        ],
      ],
      description:
        'Pipelines that run inside the daemon; their source may be {zone: ID} or {account: ID}, its own records.',
    }),
  },
  strict,
)

/** The configuration with defaults, durations in milliseconds, sizes in bytes, absolute paths, compiled pipelines. */
export type Config = Omit<Static<typeof ConfigFile>, 'pipelines'> & { readonly pipelines: readonly Pipeline[] }
export type LogpushConfig = Config['logpush']
export type WorkersConfig = Config['workers']
export type AccessLogConfig = Config['access_log']
export type CacheConfig = Config['cache']
export type ProxyConfig = Config['proxy']
export type ZoneConfig = Config['zones'][number]
