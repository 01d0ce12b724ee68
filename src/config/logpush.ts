import { Type } from 'typebox'
import { strict } from '../core/schema.js'
import { COMPRESSION_LEVELS } from '../core/sink.js'
import { Duration, Size } from './units.js'

const Limit = (byDefault: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: 10_000, default: byDefault, description })

const Filter = Type.Object(
  {
    comparisons: Limit(30, 'Maximum comparisons in one filter.'),
    bytes: Limit(1000, 'Maximum size of one filter in bytes.'),
  },
  { ...strict, default: {}, description: 'Limits for the filter of a job.' },
)

const Destinations = Type.Object(
  {
    allow_plain_http: Type.Boolean({
      default: false,
      description: 'Allows destinations without TLS, and destinations that ask to skip certificate verification.',
    }),
    allow_file_under: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: 'Folders that file:// destinations can write to, including their subfolders.',
    }),
  },
  { ...strict, default: {}, description: 'Allowed destinations of jobs.' },
)

const CompressionLevel = Type.Union([Type.Integer({ minimum: 1, maximum: 9 }), Type.Literal('auto')], {
  default: 'auto',
  description:
    'Level of gzip for batches: 1 is the fastest, 9 makes the smallest, ' +
    `auto: ${COMPRESSION_LEVELS.csv} for csv and ${COMPRESSION_LEVELS.ndjson} for ndjson.`,
})

const Uploads = Type.Object(
  {
    in_flight: Limit(32, 'Maximum concurrent uploads of all jobs. Failing jobs use separate slots.'),
    in_flight_per_destination: Limit(4, 'Maximum concurrent uploads to one host or bucket.'),
    compression_level: CompressionLevel,
    timeout: Duration('5m', 'Maximum duration of one upload.'),
    drain_timeout: Duration('10s', 'Time that uploads in flight have to finish when the daemon stops.'),
    disable_after: Duration('24h', 'A job is disabled after failing for this long without a success. 0s: never.'),
  },
  {
    ...strict,
    default: {},
    description:
      'A failed upload is retried after 1s to 60s, or after the time in Retry-After; after 1m to 5m if the destination ' +
      'rejects it.',
  },
)

/** The section `logpush` of the configuration. */
export const Logpush = Type.Object(
  {
    jobs_per_scope: Type.Integer({ minimum: 0, default: 4, description: 'Maximum jobs per account or zone.' }),
    spool: Type.String({
      default: 'embedded',
      pattern: '^(embedded|(nats|tls)://.+)$',
      description:
        'embedded; or one spool for all machines that share a store: nats://host1:4222,host2:4222?stream=edged&replicas=3, ' +
        'tls:// with TLS.',
      'x-message': 'must be embedded or a nats:// URL',
    }),
    retention_bytes: Size(
      '10GB',
      'Maximum size of undelivered records on disk. Beyond it, ingest is rejected, and records of the proxy replace the ' +
        'oldest records.',
    ),
    retention_age: Duration('7d', 'Records older than this are deleted, delivered or not.'),
    retain_while_disabled: Type.Boolean({
      default: false,
      description: 'Retains the records of a disabled job, so that it delivers them after it is enabled again.',
    }),
    filter: Filter,
    destinations: Destinations,
    uploads: Uploads,
    dead_letter: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description:
          'Destination for records that the destination of their job rejects because of their size or content. Without ' +
          'it, they are dropped and counted.',
        examples: ['file:///var/lib/edged/dead-letter'],
      }),
    ),
  },
  { ...strict, default: {}, description: 'Log push: jobs that deliver log records.' },
)
