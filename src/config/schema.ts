import { Type, type Static } from 'typebox'
import { LIST_KINDS } from '../core/model/list.js'
import { strict } from '../core/schema.js'
import { Agents } from './zones/agents.js'
import { Cache } from './cache.js'
import { Egress } from './egress.js'
import { AccountRulesOfFile } from './zones/file-rules.js'
import { History } from './history.js'
import { Logpush } from './logpush.js'
import { Machines } from './sections/machines.js'
import type { Pipeline } from './pipeline.js'
import { Backup } from './backup.js'
import { Plugins } from './plugins.js'
import { Proxy } from './proxy.js'
import { Telemetry } from './sections/telemetry.js'
import { ControlTls } from './tls.js'
import { Duration, Size } from './units.js'
import { Count, EXAMPLE_ACCOUNT, EXAMPLE_ZONE, Id, LocalListen } from './values.js'
import { Webhooks } from './webhooks.js'
import { Workers } from './workers.js'
import { Zone } from './zone.js'

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
    city_file: Database('./GeoLite2-City.mmdb', 'For all fields except the number of the autonomous system.'),
    country_file: Database('./GeoLite2-Country.mmdb', 'For country and continent without a city_file.'),
    asn_file: Database('./GeoLite2-ASN.mmdb', 'For the number of the autonomous system.'),
  },
  {
    ...strict,
    default: {},
    description:
      'Databases in MaxMind format with the places of addresses; read again on SIGHUP. Without one its fields are unknown.',
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
              'Key for secrets at rest; created if absent. Default: secret.key inside data. A new key is a new first line; the old ones follow, one per line, until edged status says that nothing needs them.',
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
    backup: Type.Optional(Backup),
    machines: Machines,
    log: Type.Object(
      {
        level: Type.Union(
          ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].map((level) => Type.Literal(level)),
          { default: 'info', description: 'Minimum level that is written.' },
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
        trusted_proxies: Type.Array(Type.String(), {
          default: [],
          description:
            'CIDRs whose X-Forwarded-For is believed. Wrong credentials, conditions of tokens and the audit log use the ' +
            'address in it.',
        }),
        networks: Type.Optional(
          Type.Array(Type.String(), {
            maxItems: 1000,
            examples: [['203.0.113.0/24', '2001:db8::/32']],
            description:
              'CIDRs from which requests to origins come, as GET /ips lists them. Default: the addresses of this machine.',
          }),
        ),
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
            ruleset_versions: Count(50, 'Older versions retained of one ruleset; the oldest are deleted first.'),
            lists_per_account: Count(100, 'Named lists of one account, besides those of this file.'),
            items_per_list: Count(200_000, 'Items of one list.'),
            zones_per_account: Count(100, 'Zones of one account created through the API, besides those of this file.'),
            custom_hostnames_per_zone: Count(50_000, 'Custom hostnames of one zone.'),
            error_pages_per_scope: Count(25, 'Stored pages for errors of one account or zone.'),
            error_page_bytes_per_scope: Size('10MB', 'Their bytes together; they are in memory.'),
          },
          { ...strict, default: {}, description: 'Limits of what is stored.' },
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
        hosts: Type.Array(
          Type.String({
            pattern: '^(\\*|[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?)$',
            'x-message': 'must be a host name without port, or "*"',
            examples: ['edged'],
          }),
          {
            default: [],
            maxItems: 100,
            description:
              'Names by which monitoring reaches that address, such as the name of a container; "*": every name. IP ' +
              'addresses and localhost are always allowed. /livez and /readyz respond under every name.',
          },
        ),
      },
      { ...strict, default: {}, description: 'For operators and their monitoring.' },
    ),
    geo: Geo,
    accounts: Type.Array(
      Type.Object(
        {
          id: Id(EXAMPLE_ACCOUNT, 'Identifier of the account.'),
          name: Type.String({ minLength: 1, maxLength: 100, description: 'Display name.', examples: ['Example'] }),
          rules: AccountRulesOfFile,
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
    agents: Agents,
    cache: Cache,
    history: History,
    logpush: Logpush,
    egress: Egress,
    webhooks: Webhooks,
    telemetry: Telemetry,
    workers: Workers,
    plugins: Plugins,
    // Validated by `readPipelines`, which has more detailed messages.
    pipelines: Type.Array(Type.Unknown({ description: 'A pipeline.' }), {
      default: [],
      examples: [
        [
          {
            name: 'requests',
            source: { zone: EXAMPLE_ZONE },
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
export type Config = Omit<Static<typeof ConfigFile>, 'pipelines'> & {
  readonly pipelines: readonly Pipeline[]
  /** Undefined if the configuration is not from a file. */
  readonly places?: FilePlaces
}

/** Where the objects of the file are. */
export interface FilePlaces {
  readonly file: string
  /** Lines of a phase and of each of its rules, by the id of the zone or account and the name of the phase, with a slash between. */
  readonly lines: Readonly<Record<string, readonly number[]>>
  /** Lines of `zone/ID`, `access/ZONE/INDEX`, `list/NAME` and `pipeline/NAME`. */
  readonly objects: Readonly<Record<string, number>>
}
export type LogpushConfig = Config['logpush']
export type WorkersConfig = Config['workers']
export type AccessLogConfig = Config['access_log']
export type CacheConfig = Config['cache']
export type HistoryConfig = Config['history']
export type ProxyConfig = Config['proxy']
export type ZoneConfig = Config['zones'][number]
