import { Type, type Static } from 'typebox'
import { strict } from '../../core/schema.js'

export const HTML_HANDLING = ['auto-trailing-slash', 'force-trailing-slash', 'drop-trailing-slash', 'none'] as const
/** `exact`: files are served at their own paths only, and a folder at its path with a slash. For folders on disk. */
export type HtmlHandling = (typeof HTML_HANDLING)[number] | 'exact'

export const NOT_FOUND_HANDLING = ['none', '404-page', 'single-page-application'] as const
export type NotFoundHandling = (typeof NOT_FOUND_HANDLING)[number]

/** Text of a `_headers` or `_redirects` file: 2,100 lines of 2,000 characters fit, and no more is read. */
const FILE_CHARACTERS = 4_300_000

/** `assets.config` of a Worker's metadata. `assetConfigIssues` checks the rules that a schema cannot express. */
export const AssetConfig = Type.Object(
  {
    _headers: Type.Optional(Type.String({ maxLength: FILE_CHARACTERS, description: 'Contents of a headers file.' })),
    _redirects: Type.Optional(
      Type.String({ maxLength: FILE_CHARACTERS, description: 'Contents of a redirects file.' }),
    ),
    base_path: Type.Optional(
      Type.Union([Type.String({ maxLength: 1024 }), Type.Null()], {
        description: 'Prefix of the URL path under which the assets are served; null: /.',
      }),
    ),
    html_handling: Type.Optional(Type.Enum([...HTML_HANDLING])),
    not_found_handling: Type.Optional(Type.Enum([...NOT_FOUND_HANDLING])),
    run_worker_first: Type.Optional(
      Type.Union([Type.Boolean(), Type.Array(Type.String())], {
        description: 'Requests that the Worker gets before the assets: all, none, or the ones that match path rules.',
      }),
    ),
    serve_directly: Type.Optional(Type.Boolean({ description: 'Deprecated: the opposite of run_worker_first.' })),
  },
  strict,
)
export type AssetConfig = Static<typeof AssetConfig>
