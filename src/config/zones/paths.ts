import { Type, type Static, type TProperties } from 'typebox'
import { strict } from '../../core/schema.js'
import { Auth } from './auth.js'

/** How addresses of HTML files are written. `exact` is the way of other servers. The others are the ways of static assets. */
const HTML = ['auto-trailing-slash', 'force-trailing-slash', 'drop-trailing-slash', 'none', 'exact'] as const

/** `root` of a zone or a path: a folder of files. */
export const Root = Type.Union(
  [
    Type.String({ minLength: 1 }),
    Type.Object(
      {
        folder: Type.String({ minLength: 1, description: 'The folder.' }),
        html: Type.Optional(
          Type.Enum([...HTML], {
            description:
              'auto-trailing-slash, the default: /page for page.html and /page/ for page/index.html, with redirects. exact: /page.html ' +
              'as it is, only folders without their slash are redirected.',
          }),
        ),
      },
      strict,
    ),
  ],
  {
    description: 'Folder of files that is served instead of an origin, or {folder, html}.',
    examples: ['./public'],
  },
)
export type Root = Static<typeof Root>

/** An item of `zones[].paths`. `origins` are its options about origins. */
const path = <P extends TProperties>(origins: P) =>
  Type.Object(
    {
      path: Type.String({
        pattern: '^[/*][^\\x00-\\x1f\\x7f]{0,1023}$',
        description: 'Decoded path without dot segments; * is any characters. Case counts.',
        examples: ['/api/*'],
        'x-message': 'must be a path that begins with / or *, as in /api/*',
      }),
      ...origins,
      root: Type.Optional(Root),
      strip_prefix: Type.Optional(
        Type.String({
          pattern: '^/[^\\x00-\\x1f\\x7f?#*]{1,1023}$',
          description: 'Beginning of the path that origin and root do not see.',
          examples: ['/api'],
          'x-message': 'must be the beginning of a path, as in /api',
        }),
      ),
      auth: Type.Optional(Auth),
    },
    strict,
  )

/** `zones[].paths`. */
export const paths = <P extends TProperties>(origins: P) =>
  Type.Array(path(origins), {
    default: [],
    maxItems: 1000,
    description:
      'Other origins, folders or authentication by path. The first that matches; absent options are those of the zone.',
  })
