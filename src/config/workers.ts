import { Type } from 'typebox'
import { strict } from '../core/schema.js'
import { Duration, Size } from './units.js'

const Places = (byDefault: number, description: string) => Type.Integer({ minimum: 1, default: byDefault, description })

/** The section `workers`. */
export const Workers = Type.Object(
  {
    runtime: Type.Enum(['auto', 'off'], {
      default: 'auto',
      description:
        'Whether scripts run: `auto` runs them if the package of the runtime is installed (`edged doctor` prints the command); `off` stores them and serves their assets only.',
    }),
    domain: Type.Union(
      [
        Type.String({
          pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$',
          maxLength: 120,
          'x-message': 'must be a host name in lower case, as in workers.example.com',
        }),
        Type.Null(),
      ],
      {
        default: null,
        description:
          'Host name below which scripts respond, as NAME.SUBDOMAIN.DOMAIN, in place of workers.dev. Its DNS needs a wildcard record. null: scripts respond on routes and custom domains only.',
      },
    ),
    cache_bytes: Size(
      '64MiB',
      'Memory of the Cache API of scripts, all accounts together; one response takes at most an eighth.',
    ),
    email: Type.Union(
      [
        Type.String({
          pattern: '^smtps?://',
          'x-message': 'must be an smtp:// or smtps:// URL, as in smtp://user:password@mail.example.com:587',
        }),
        Type.Null(),
      ],
      {
        default: null,
        description:
          'Mail server of the send_email binding, as in smtp://user:password@mail.example.com:587. null: messages are written to the log and not sent.',
      },
    ),
    max_stall: Duration(
      '10s',
      'Maximum time without a response to a health check of the process of an account. The process is then restarted, and the requests in flight get error 1102.',
    ),
    upload: Type.Object(
      {
        bytes: Size('64MB', 'Of one upload, all parts together; larger ones get 413.'),
        module_bytes: Size('10MB', 'Of the modules of one upload, source maps aside.'),
        metadata_bytes: Size('10MB', 'Of the metadata of one upload.'),
        parts: Places(2000, 'Parts of one upload.'),
        memory: Size('256MB', 'For all uploads in progress together; beyond it an upload gets 503.'),
      },
      { ...strict, default: {}, description: 'What an upload of a script may be.' },
    ),
    assets: Type.Object(
      {
        files: Type.Integer({ minimum: 1, maximum: 100_000, default: 20_000, description: 'Files of one version.' }),
        file_bytes: Size('25MiB', 'Of one file.'),
        cache_bytes: Size('64MiB', 'Files kept in memory, all Workers together.'),
      },
      { ...strict, default: {}, description: 'Static assets of scripts.' },
    ),
    retention: Type.Object(
      {
        versions: Places(100, 'Versions of one script; older ones go, but for those that are deployed.'),
        deployments: Places(20, 'Deployments of one script; older ones go.'),
        orphans: Duration(
          '24h',
          'Files that belong to no version go after this long, such as those of broken uploads.',
        ),
      },
      { ...strict, default: {}, description: 'How long what was uploaded can be seen.' },
    ),
    quotas: Type.Object(
      {
        scripts: Places(500, 'Scripts.'),
        bindings: Places(1000, 'Bindings of one script.'),
        value_bytes: Size('128KiB', 'Of one variable or secret.'),
      },
      { ...strict, default: {}, description: 'What one account may have.' },
    ),
  },
  { ...strict, default: {}, description: 'Worker scripts: what may be uploaded and what is kept of it.' },
)
