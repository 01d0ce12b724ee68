import { Type } from 'typebox'
import { strict } from '../core/schema.js'
import { Duration, Size } from './units.js'

const Places = (byDefault: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: 10_000, default: byDefault, description })

const Filter = Type.Object(
  {
    comparisons: Places(30, 'Comparisons of one filter.'),
    bytes: Places(1000, 'Text of one filter, in bytes.'),
  },
  { ...strict, default: {}, description: 'How large the filter of a job may be.' },
)

const Destinations = Type.Object(
  {
    allow_plain_http: Type.Boolean({
      default: false,
      description: 'Destinations without TLS, and with certificates that do not fit where they ask for it.',
    }),
    allow_file_under: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: 'Folders below which file:// destinations may write.',
    }),
  },
  { ...strict, default: {}, description: 'Where jobs may send.' },
)

const Uploads = Type.Object(
  {
    at_once: Places(32, 'Uploads under way, all jobs together. Jobs that fail wait for places of their own.'),
    per_destination: Places(4, 'Uploads under way to one host or bucket.'),
    timeout: Duration('5m', 'One upload may take this long.'),
    drain_timeout: Duration('10s', 'Uploads under way have this long to finish when the daemon stops.'),
    disable_after: Duration('24h', 'A job that has failed for this long is disabled. 0s: never.'),
  },
  {
    ...strict,
    default: {},
    description:
      'A failed upload is tried again: after 1s to 60s, or what Retry-After says; after 1m to 5m where the destination ' +
      'refuses it.',
  },
)

/** The section `logpush` of the configuration. */
export const Logpush = Type.Object(
  {
    jobs_per_scope: Type.Integer({ minimum: 0, default: 4, description: 'Jobs of one account or zone.' }),
    retention_bytes: Size(
      '10GB',
      'Records kept on disk until they are delivered; beyond it ingest is refused, and the oldest records go for those ' +
        'of the proxy.',
    ),
    retention_age: Duration('7d', 'Records older than this are dropped, delivered or not.'),
    keep_while_disabled: Type.Boolean({
      default: false,
      description: 'A job that is disabled finds the records of that time when it is enabled again.',
    }),
    filter: Filter,
    destinations: Destinations,
    uploads: Uploads,
    dead_letter: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        description:
          'Destination for records that the destination of their job never takes: too large, or refused for what is in ' +
          'them. None: dropped and counted.',
        examples: ['file:///var/lib/edged/dead-letter'],
      }),
    ),
  },
  { ...strict, default: {}, description: 'Jobs that deliver log records.' },
)
