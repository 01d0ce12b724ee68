import { Type, type Static } from 'typebox'
import type { Issue } from '../../core/errors.js'
import { strict } from '../../core/schema.js'

/** A hash as `htpasswd -B` and `edged hash-password` write it. */
const BCRYPT_HASH = '^\\$2[abxy]\\$(0[4-9]|1[0-9])\\$[./A-Za-z0-9]{53}$'

const Basic = Type.Object(
  {
    realm: Type.Optional(
      Type.String({
        pattern: '^[^\\x00-\\x1f\\x7f]{1,200}$',
        description: 'Name of the area, which browsers show. Default: Restricted.',
        examples: ['Admin'],
        'x-message': 'must have 1 to 200 characters, without control characters',
      }),
    ),
    users_file: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'File with a line NAME:HASH per user, as `htpasswd -B` writes it; read again when it changes.',
        examples: ['./htpasswd'],
      }),
    ),
    users: Type.Optional(
      Type.Record(
        Type.String(),
        Type.String({
          pattern: BCRYPT_HASH,
          'x-message': 'must be a bcrypt hash; `edged hash-password` and `htpasswd -nB NAME` print one',
        }),
        {
          description: 'Hashes by name, instead of a file.',
          examples: [{ alice: '$2b$10$fnyGIl/ZbSsYphwQ5uSVluL7pfx3hKCwU4Rxd1OrNy.PyXYKu2fAa' }],
        },
      ),
    ),
  },
  { ...strict, description: 'Name and password (RFC 7617), compared with bcrypt hashes.' },
)

const Forward = Type.Object(
  {
    url: Type.String({
      pattern: '^(https?://[^\\s/?#@]+(/[^\\s#]*)?|unix:/[^\\s?#:]+(:/[^\\s#]*)?)$',
      description: 'URL that decides. A 2xx response lets the request pass; any other response goes to the client.',
      examples: ['http://127.0.0.1:9091/verify'],
      'x-message': 'must be http://host:port/path, https://host:port/path or unix:/SOCKET:/path',
    }),
    copy: Type.Optional(
      Type.Array(
        Type.String({
          pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$",
          'x-message': 'must be the name of a header field',
        }),
        {
          maxItems: 100,
          description:
            'Header fields of its response that the request to the origin gets. Those that the client sent are removed.',
          examples: [['remote-user']],
        },
      ),
    ),
  },
  { ...strict, description: 'Another service decides, with the header fields of the request.' },
)

/** `auth` of a zone or a path. */
export const Auth = Type.Union(
  [
    Type.Object(
      { basic: Type.Optional(Basic), forward: Type.Optional(Forward) },
      { ...strict, minProperties: 1, maxProperties: 1, 'x-message': 'must have one of basic and forward' },
    ),
    Type.Literal(false),
  ],
  {
    description:
      'Who may see it: basic or forward. Responses are not stored in the shared cache. false, for a path: everybody, although ' +
      'the zone has one.',
    examples: [{ basic: { realm: 'Admin', users_file: './htpasswd' } }],
  },
)
export type Auth = Exclude<Static<typeof Auth>, false>

/** Returns issues of `auth` that the schema cannot express. */
export function authIssues(auth: Auth | false | undefined, pointer: string): Issue[] {
  const basic = auth ? auth.basic : undefined
  const issues: Issue[] = []
  if (basic && (basic.users_file === undefined) === (basic.users === undefined))
    issues.push({ pointer: `${pointer}/basic`, message: 'must have one of users_file and users' })
  for (const name of Object.keys(basic?.users ?? {}))
    // RFC 7617, 2: the first colon ends the name.
    if (/[:\p{Cc}]/u.test(name) || name === '')
      issues.push({ pointer: `${pointer}/basic/users/${name}`, message: 'is not a name: it must have no colon' })
  const url = auth ? auth.forward?.url : undefined
  if (url !== undefined && !url.startsWith('unix:') && !URL.canParse(url))
    issues.push({ pointer: `${pointer}/forward/url`, message: `is not a URL: ${url}` })
  return issues
}
