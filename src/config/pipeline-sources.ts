/** The schemas of the sources of pipelines. */
import { resolve } from 'node:path'
import { Type, type Static } from 'typebox'
import { strict } from '../core/schema.js'

const Path = Type.String({ minLength: 1 })
const Paths = Type.Array(Path, { minItems: 1 })
const Follow = Type.Boolean({
  description:
    'Wait for more records: in every file that matches, in new ones, through rotations and truncations, and for files ' +
    'that do not exist yet. Plain NDJSON only. Default: false.',
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
  },
  { ...strict, description: 'Files of NDJSON, or of one JSON array each, gzip or not.' },
)

const StdinSource = Type.Object(
  { stdin: Type.Literal(true) },
  { ...strict, description: 'Standard input: NDJSON or one JSON array, gzip or not.' },
)

const HttpSource = Type.Object(
  {
    http: Type.String({
      pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):\\d{1,5}$',
      description: 'Address to listen on, as in 127.0.0.1:8600. POST takes NDJSON or a JSON array, gzip allowed.',
      'x-message': 'must be an address and a port, as in 127.0.0.1:8600',
    }),
    token: Type.Optional(
      Type.String({
        minLength: 16,
        description: 'What senders give as Authorization: Bearer. Default: nobody is asked.',
      }),
    ),
  },
  { ...strict, description: 'A listener. Answers 202 once the records are safe on disk.' },
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

const Listen = (example: string) =>
  Type.String({
    pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):\\d{1,5}$',
    description: `Address to listen on, for example ${example}.`,
    'x-message': `must be an address and a port, as in ${example}`,
  })

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

/** Sources of records: the member that identifies a source, and its schema. */
export const SOURCE_SCHEMAS = {
  file: FileSource,
  stdin: StdinSource,
  http: HttpSource,
  redis_stream: RedisSource,
  syslog: SyslogSource,
  otlp: OtlpSource,
  zone: ZoneSource,
  account: AccountSource,
} as const
export type SourceKind = keyof typeof SOURCE_SCHEMAS
export const SOURCE_KINDS = Object.keys(SOURCE_SCHEMAS) as readonly SourceKind[]

/** Sources inside the daemon only. */
export const INNER_SOURCES: readonly InnerSource[] = ['zone', 'account']
type InnerSource = 'zone' | 'account'
export type OuterSource = Exclude<SourceKind, InnerSource>
export const OUTER_SOURCES = SOURCE_KINDS.filter(
  (kind): kind is OuterSource => !INNER_SOURCES.some((inner) => inner === kind),
)

/** A source by the member that identifies it. */
export type SourceOf<K extends SourceKind> = Static<(typeof SOURCE_SCHEMAS)[K]>
export type Source = SourceOf<SourceKind>

/** Returns the files of a source in any of its notations. */
export function filesOf({ file, follow = false }: SourceOf<'file'>): {
  readonly paths: readonly string[]
  readonly follow: boolean
} {
  if (typeof file === 'string') return { paths: [file], follow }
  return 'paths' in file ? { paths: file.paths, follow: file.follow ?? follow } : { paths: file, follow }
}

/** Returns the source with absolute paths; in the file they are relative to its folder. */
export function resolveSource(source: Source, folder: string): Source {
  const absolute = (path: string) => resolve(folder, path)
  if ('file' in source) {
    const { paths, follow } = filesOf(source)
    return { file: paths.map(absolute), ...(follow && { follow }) }
  }
  if ('syslog' in source) return { syslog: { ...source.syslog, ...absolutePaths(source.syslog, absolute) } }
  return source
}

const FILES = ['cert_file', 'key_file', 'client_ca_file'] as const

type FileOptions = { readonly [K in (typeof FILES)[number]]?: string }

const absolutePaths = (options: FileOptions, absolute: (path: string) => string): FileOptions =>
  Object.fromEntries(
    FILES.flatMap((name) => {
      const path = options[name]
      return path === undefined ? [] : [[name, absolute(path)]]
    }),
  )
