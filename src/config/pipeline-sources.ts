/** The schemas of the sources of pipelines. */
import { resolve } from 'node:path'
import { Type, type Static, type TSchema } from 'typebox'
import { LINE_FORMATS } from '../../pipelines/records/text/index.js'
import { orNull, strict } from '../core/schema.js'
import { addedSources, sourceSchema } from './added-sources.js'
import { Duration, resolveUnits } from './units.js'

/** Format of the lines or messages of a source, beside its type. */
const Format = Type.Optional(
  Type.Union(
    [
      Type.Enum([...LINE_FORMATS]),
      Type.Object(
        {
          regex: Type.String({
            minLength: 1,
            maxLength: 4096,
            description:
              'Pattern with named groups, as in ^(?<client>[^ ]+) (?<message>.*)$, in the syntax of the rules language. A ' +
              'record has a text for each group.',
          }),
        },
        strict,
      ),
    ],
    {
      description:
        'What a line or message is: json, combined or common (access logs), logfmt, text ({ "message": LINE }), or { regex: ' +
        'PATTERN }. A line that does not match is invalid. schema gives types. Default: json.',
      'x-message': 'must be json, combined, common, logfmt, text or { regex: PATTERN }',
    },
  ),
)

const Path = Type.String({ minLength: 1 })
const Paths = Type.Array(Path, { minItems: 1, description: 'Paths and globs, relative to this file.' })
const Follow = Type.Boolean({
  description:
    'Wait for more records: in every file that matches, in new ones, through rotations and truncations, and for files ' +
    'that do not exist yet. Plain lines only, not compressed. Default: false.',
})
const FileSource = Type.Object(
  {
    file: Type.Union([Path, Paths, Type.Object({ paths: Paths, follow: Type.Optional(Follow) }, strict)], {
      description:
        'Path or glob, or a list of them, relative to this file; read in this order, each glob by name. Or ' +
        '{ paths, follow }.',
      'x-message': 'must be a path, a list of paths, or { paths: [..], follow: true }',
    }),
    follow: Type.Optional(Follow),
    format: Format,
  },
  { ...strict, description: 'Files of NDJSON, of one JSON array each, or of lines in a format, gzip or not.' },
)

const StdinSource = Type.Object(
  { stdin: Type.Literal(true, { description: 'true; `source: stdin` for short.' }), format: Format },
  { ...strict, description: 'Standard input: NDJSON, one JSON array, or lines in a format, gzip or not.' },
)

const Listen = (example: string) =>
  Type.String({
    pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):\\d{1,5}$',
    description: `Address to listen on, for example ${example}.`,
    'x-message': `must be an address and a port, as in ${example}`,
  })

const Token = Type.Optional(
  Type.String({
    minLength: 16,
    description: 'Token that senders pass as Authorization: Bearer. Default: none is required.',
  }),
)
const HttpSource = Type.Object(
  {
    http: Type.Union(
      [Listen('127.0.0.1:8600'), Type.Object({ listen: Listen('127.0.0.1:8600'), token: Token }, strict)],
      {
        description:
          'Address to listen on, for example 127.0.0.1:8600, or { listen, token }. POST with NDJSON or a JSON array, gzip ' +
          'or not.',
        'x-message': 'must be an address and a port, as in 127.0.0.1:8600, or { listen: 127.0.0.1:8600 }',
      },
    ),
    token: Token,
    format: Format,
  },
  { ...strict, description: 'A listener. It responds with 202 once the records are safe on disk.' },
)

const RedisSource = Type.Object(
  {
    redis_stream: Type.String({
      pattern: '^rediss?://.+',
      description: 'URL of the server, as in redis://127.0.0.1:6379/0.',
      'x-message': 'must be a redis:// URL',
    }),
    key: Type.String({ minLength: 1, description: 'Key of the stream.' }),
    group: Type.Optional(
      Type.String({ minLength: 1, description: 'Consumer group, made when absent. Default: edged.' }),
    ),
    consumer: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'Name in the group; no other reader may have it. Default: the name of the host and a random id, kept in the state of the run.',
      }),
    ),
    field: Type.Optional(
      Type.String({ minLength: 1, description: 'Field of an entry with the record, a JSON object. Default: record.' }),
    ),
  },
  {
    ...strict,
    description: 'A Redis stream, read as a consumer group. Entries are acknowledged once they are safe on disk.',
  },
)

const RecordOf = (message: string) =>
  Type.Optional(
    Type.Enum(['event', 'message'], {
      description:
        `event: the record has all parts of the log entry. message: the record is ${message}, a JSON object. ` +
        'Default: event for dataset any, message for datasets with fields.',
    }),
  )

const SyslogSource = Type.Object(
  {
    syslog: Type.Object(
      {
        listen: Listen('127.0.0.1:5514'),
        protocol: Type.Optional(
          Type.Enum(['tcp', 'udp', 'tls'], { description: 'Transport of messages. Default: tcp.' }),
        ),
        cert_file: Type.Optional(Type.String({ minLength: 1, description: 'Certificate chain for tls, PEM.' })),
        key_file: Type.Optional(Type.String({ minLength: 1, description: 'Key of the certificate, PEM.' })),
        client_ca_file: Type.Optional(
          Type.String({
            minLength: 1,
            description: 'Authorities of client certificates, PEM. Default: none is required.',
          }),
        ),
        record: RecordOf('the text of the message'),
      },
      strict,
    ),
    format: Format,
  },
  {
    ...strict,
    description:
      'A syslog listener: RFC 5424 and RFC 3164, with octet counting or one message per line. Syslog has no ' +
      'acknowledgements: what is on its way when the process is killed is lost.',
  },
)

const OtlpSource = Type.Object(
  { otlp: Type.Object({ listen: Listen('127.0.0.1:4318'), record: RecordOf('the body of the log record') }, strict) },
  {
    ...strict,
    description:
      'A listener for logs over OTLP/HTTP, JSON or protobuf, at /v1/logs. It responds with 200 once the records are safe ' +
      'on disk.',
  },
)

const HOST_PORT = '^(\\[[0-9a-fA-F:.]+\\]|[^:/\\s]+):\\d{1,5}$'
const TlsFiles = Type.Object(
  {
    ca_file: Type.Optional(
      Type.String({ minLength: 1, description: 'Authorities of the servers, PEM. Default: those of the runtime.' }),
    ),
    cert_file: Type.Optional(Type.String({ minLength: 1, description: 'Certificate chain of the client, PEM.' })),
    key_file: Type.Optional(Type.String({ minLength: 1, description: 'Key of that certificate, PEM.' })),
  },
  strict,
)
const Tls = Type.Optional(
  Type.Union([Type.Boolean(), TlsFiles], {
    description: 'true: TLS with verified certificates; or { ca_file, cert_file, key_file }. Default: false.',
    'x-message': 'must be true, false or { ca_file, cert_file, key_file }',
  }),
)
const SASL_MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const

const KafkaSource = Type.Object(
  {
    kafka: Type.Object(
      {
        brokers: Type.Array(
          Type.String({ pattern: HOST_PORT, 'x-message': 'must be a host and a port, as in kafka.internal:9092' }),
          { minItems: 1, maxItems: 20, description: 'Brokers to begin with: HOST:PORT.' },
        ),
        topics: Type.Array(
          Type.String({
            pattern: '^(?!\\.{1,2}$)[A-Za-z0-9._-]{1,249}$',
            'x-message': 'is not a topic; use letters, digits, ".", "_" and "-"',
          }),
          { minItems: 1, maxItems: 100, description: 'Topics to read.' },
        ),
        group: Type.Optional(
          Type.String({
            minLength: 1,
            description: 'Consumer group; all runs with the same name divide the partitions. Default: edged.',
          }),
        ),
        tls: Tls,
        session_timeout: Type.Optional(
          Duration(
            '30s',
            'A run that sends no heartbeat for this long loses its partitions to the other members. Brokers allow 6s to 30m.',
          ),
        ),
        sasl: Type.Optional(
          orNull(
            Type.Object(
              {
                mechanism: Type.Enum([...SASL_MECHANISMS], { description: 'Mechanism of authentication.' }),
                username: Type.String({ minLength: 1, description: 'User.' }),
                password: Type.String({ minLength: 1, description: 'Password; ${file:PATH} or ${ENV} keeps it out.' }),
              },
              { ...strict, description: 'Credentials. Default: none.' },
            ),
          ),
        ),
      },
      strict,
    ),
    format: Format,
  },
  {
    ...strict,
    description:
      'Topics of Kafka, read as a member of a consumer group, in a new group from the beginning. The value of a message is ' +
      'the record. Offsets are committed once the records are safe on disk.',
  },
)

const NatsName = (description: string) =>
  Type.String({
    pattern: '^[^.*>/\\\\\\s]{1,255}$',
    description,
    'x-message': 'must be a name without blanks, ".", "*", ">", "/" and "\\\\"',
  })
const NatsSource = Type.Object(
  {
    nats: Type.Object(
      {
        servers: Type.Array(
          Type.String({
            pattern: '^(nats|tls)://[^/@\\s]+$',
            'x-message': 'must be nats://HOST:PORT or tls://HOST:PORT',
          }),
          { minItems: 1, maxItems: 20, description: 'Servers to begin with.' },
        ),
        stream: NatsName('Stream of JetStream to read; it must exist.'),
        consumer: Type.Optional(
          NatsName(
            'Durable pull consumer, made if absent; all runs with the same one divide the messages. Default: edged.',
          ),
        ),
        tls: Tls,
        username: Type.Optional(Type.String({ minLength: 1, description: 'User.' })),
        password: Type.Optional(Type.String({ minLength: 1, description: 'Password of the user.' })),
        token: Type.Optional(Type.String({ minLength: 1, description: 'Token in place of user and password.' })),
        credentials_file: Type.Optional(Type.String({ minLength: 1, description: 'File with a JWT and its key.' })),
      },
      strict,
    ),
    format: Format,
  },
  {
    ...strict,
    description:
      'A stream of NATS JetStream, read through a durable pull consumer. The data of a message is the record. Messages are ' +
      'acknowledged once the records are safe on disk.',
  },
)

const S3Source = Type.Object(
  {
    s3: Type.Object(
      {
        bucket: Type.String({
          pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,221}$',
          description: 'Bucket.',
          'x-message': 'is not a bucket; use letters, digits, dots, dashes and underscores',
        }),
        prefix: Type.Optional(
          Type.String({ maxLength: 1024, description: 'Beginning of keys. Default: all objects.' }),
        ),
        region: Type.Optional(
          Type.String({
            pattern: '^[a-z0-9-]{1,32}$',
            description: 'AWS region. Default: that of the environment.',
            'x-message': 'is not an AWS region; use a value such as eu-central-1',
          }),
        ),
        endpoint: Type.Optional(
          Type.String({
            pattern: '^https?://[^/?#@\\s]+/?$',
            description: 'Another server with the same API, for example https://s3.internal:9000.',
            'x-message': 'must be a URL without a path, as in https://s3.internal:9000',
          }),
        ),
        'access-key-id': Type.Optional(
          Type.String({ minLength: 1, description: 'Access key. Default: the credentials of the environment.' }),
        ),
        'secret-access-key': Type.Optional(Type.String({ minLength: 1, description: 'Secret of the access key.' })),
        follow: Type.Optional(
          Type.Boolean({ description: 'List again after each interval, and read what is new. Default: false.' }),
        ),
        interval: Type.Optional(Duration('60s', 'Time between two listings.')),
      },
      {
        ...strict,
        dependentRequired: {
          'access-key-id': ['secret-access-key'],
          'secret-access-key': ['access-key-id'],
        },
      },
    ),
    format: Format,
  },
  {
    ...strict,
    description:
      'Objects of an S3 bucket, found by listing: NDJSON or one JSON array each, gzip or not. Each content of an object is ' +
      'read once.',
  },
)

const ID = '^[0-9a-f]{32}$'
const OwnId = (description: string) =>
  Type.String({ pattern: ID, description, 'x-message': 'must be 32 digits of 0-9 and a-f' })
const ZoneSource = Type.Object(
  { zone: OwnId('Identifier of the zone.') },
  { ...strict, description: "The daemon's own records of a zone. Only inside the daemon." },
)
const AccountSource = Type.Object(
  { account: OwnId('Identifier of the account.') },
  { ...strict, description: "The daemon's own records of an account. Only inside the daemon." },
)

/** Sources of the product itself: the member that identifies a source, and its schema. */
const OWN_SCHEMAS = {
  file: FileSource,
  stdin: StdinSource,
  http: HttpSource,
  redis_stream: RedisSource,
  kafka: KafkaSource,
  nats: NatsSource,
  s3: S3Source,
  syslog: SyslogSource,
  otlp: OtlpSource,
  zone: ZoneSource,
  account: AccountSource,
} as const
type SourceKind = keyof typeof OWN_SCHEMAS

/** Sources that plug-ins add. */
export const ADDED_SOURCES = addedSources(Object.keys(OWN_SCHEMAS))

/** All sources of records: the member that identifies a source, and its schema. */
export const SOURCE_SCHEMAS: Readonly<Record<string, TSchema>> = {
  ...OWN_SCHEMAS,
  ...Object.fromEntries(ADDED_SOURCES.map((source) => [source.name, sourceSchema(source)])),
}
export const SOURCE_KINDS: readonly string[] = Object.keys(SOURCE_SCHEMAS)

/** Sources inside the daemon only. */
export const INNER_SOURCES: readonly string[] = ['zone', 'account'] satisfies SourceKind[]
export type OuterSource = Exclude<SourceKind, 'zone' | 'account'>
export const OUTER_SOURCES = (Object.keys(OWN_SCHEMAS) as SourceKind[]).filter(
  (kind): kind is OuterSource => !INNER_SOURCES.includes(kind),
)

/** A source by the member that identifies it. */
export type SourceOf<K extends SourceKind> = Static<(typeof OWN_SCHEMAS)[K]>
export type Source = SourceOf<SourceKind>

/** Returns the files of a source in any of its notations. */
export function filesOf({ file, follow = false }: SourceOf<'file'>): {
  readonly paths: readonly string[]
  readonly follow: boolean
} {
  if (typeof file === 'string') return { paths: [file], follow }
  return 'paths' in file ? { paths: file.paths, follow: file.follow ?? follow } : { paths: file, follow }
}

/** Returns the listener of a source in any of its notations. */
export function listenerOf({ http, token }: SourceOf<'http'>): {
  readonly listen: string
  readonly token: string | undefined
} {
  return typeof http === 'string' ? { listen: http, token } : { listen: http.listen, token: http.token ?? token }
}

/** Returns the source with absolute paths, which in the file are relative to its folder, and its durations in ms. */
export function resolveSource(given: Source, folder: string): Source {
  const kind = SOURCE_KINDS.find((kind) => kind in given)
  const source = kind === undefined ? given : (resolveUnits(SOURCE_SCHEMAS[kind]!, given) as Source)
  const absolute = (path: string) => resolve(folder, path)
  if ('file' in source) {
    const { paths, follow } = filesOf(source)
    return { ...source, file: paths.map(absolute), ...(follow && { follow }) }
  }
  if ('syslog' in source) return { ...source, syslog: { ...source.syslog, ...absolutePaths(source.syslog, absolute) } }
  if ('kafka' in source) return { ...source, kafka: { ...source.kafka, ...absoluteTls(source.kafka, absolute) } }
  if ('nats' in source) {
    const files = { ...absoluteTls(source.nats, absolute), ...absolutePaths(source.nats, absolute) }
    return { ...source, nats: { ...source.nats, ...files } }
  }
  return source
}

const FILES = ['cert_file', 'key_file', 'ca_file', 'client_ca_file', 'credentials_file'] as const

type FileOptions = { readonly [K in (typeof FILES)[number]]?: string }

type Absolute = (path: string) => string

const absoluteTls = ({ tls }: { readonly tls?: boolean | FileOptions }, absolute: Absolute): { tls?: FileOptions } =>
  typeof tls === 'object' ? { tls: absolutePaths(tls, absolute) } : {}

const absolutePaths = (options: FileOptions, absolute: Absolute): FileOptions =>
  Object.fromEntries(
    FILES.flatMap((name) => {
      const path = options[name]
      return path === undefined ? [] : [[name, absolute(path)]]
    }),
  )
