import { Type, type Static } from 'typebox'
import type { Issue } from '../../core/errors.js'
import { mapOf, strict } from '../../core/schema.js'
import { Flag, oneOfTwo, Texts } from './shared.js'

const Some = Type.Optional(
  Type.Object(
    {
      all: Type.Optional(Type.Literal(true, { description: 'Every parameter.' })),
      list: Type.Optional(Texts('Names of parameters.')),
    },
    strict,
  ),
)

const CustomKey = Type.Object(
  {
    cookie: Type.Optional(
      Type.Object({ check_presence: Type.Optional(Texts('Names.')), include: Type.Optional(Texts('Names.')) }, strict),
    ),
    header: Type.Optional(
      Type.Object(
        {
          check_presence: Type.Optional(Texts('Names.')),
          contains: Type.Optional(
            mapOf(Texts('Values looked for.'), {
              maxProperties: 100,
              'x-message': 'must not name more than 100 headers',
            }),
          ),
          exclude_origin: Flag('The Origin header is left out.'),
          include: Type.Optional(Texts('Names.')),
        },
        strict,
      ),
    ),
    host: Type.Optional(Type.Object({ resolved: Flag('The resolved name in place of the Host header.') }, strict)),
    query_string: Type.Optional(Type.Object({ include: Some, exclude: Some }, strict)),
    user: Type.Optional(
      Type.Object({ device_type: Flag('Kind of device.'), geo: Flag('Country.'), lang: Flag('Language.') }, strict),
    ),
  },
  strict,
)

/** The parts of a request that distinguish cached responses of one URL. */
export const CacheKey = Type.Object(
  {
    cache_by_device_type: Flag('One answer for each kind of device.'),
    cache_deception_armor: Flag(
      'Responses without an explicit lifetime are stored only if the content type fits the ending of the URL. Default: true.',
    ),
    custom_key: Type.Optional(CustomKey),
    ignore_query_strings_order: Flag('Parameters in another order are the same URL.'),
  },
  strict,
)

/** Returns the issues that the schema of {@link CacheKey} cannot express. */
export function cacheKeyIssues({ custom_key }: Static<typeof CacheKey>): Issue[] {
  const query = custom_key?.query_string
  if (!query) return []
  const at = '/cache_key/custom_key/query_string'
  return [
    ...oneOfTwo(at, query, 'include', 'exclude'),
    ...(query.include ? oneOfTwo(`${at}/include`, query.include, 'all', 'list') : []),
    ...(query.exclude ? oneOfTwo(`${at}/exclude`, query.exclude, 'all', 'list') : []),
  ]
}
