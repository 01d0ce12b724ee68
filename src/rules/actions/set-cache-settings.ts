import { Type, type Static } from 'typebox'
import type { Issue } from '../../core/errors.js'
import { mapOf, pointerToken, strict } from '../../core/schema.js'
import { action } from '../action.js'
import { CacheKey, cacheKeyIssues } from './cache-key.js'
import { Flag, NotEmpty, Whole } from './shared.js'

const Status = Type.Integer({ minimum: 100, maximum: 999 })

const StatusTtl = Type.Object(
  {
    value: Whole(-1, 'Seconds; 0 is no-cache, -1 is no-store.'),
    status_code: Type.Optional(Status),
    status_code_range: Type.Optional(NotEmpty({ from: Type.Optional(Status), to: Type.Optional(Status) })),
  },
  strict,
)

const EdgeTtl = Type.Object(
  {
    mode: Type.Enum(['respect_origin', 'bypass_by_default', 'override_origin']),
    default: Type.Optional(Whole(0, 'Seconds; required with override_origin.')),
    status_code_ttl: Type.Optional(Type.Array(StatusTtl, { minItems: 1, maxItems: 1000 })),
  },
  strict,
)

const BrowserTtl = Type.Object(
  {
    mode: Type.Enum(['respect_origin', 'bypass_by_default', 'override_origin', 'bypass']),
    default: Type.Optional(Whole(0, 'Seconds; required with override_origin.')),
  },
  strict,
)

const VaryAction = Type.Enum(['bypass', 'passthrough', 'normalize'])
const VARY_NAME = /^[a-z0-9_-]{1,128}$/

const VaryHeader = Type.Object(
  {
    action: VaryAction,
    media_types: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: 10, description: 'For accept only.' }),
    ),
    languages: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        maxItems: 20,
        description: 'For accept-language only.',
      }),
    ),
  },
  strict,
)

const Vary = Type.Object(
  {
    default: Type.Object({ action: VaryAction }, strict),
    headers: Type.Optional(mapOf(VaryHeader, { maxProperties: 50, 'x-message': 'must not name more than 50 headers' })),
  },
  strict,
)

const Params = NotEmpty({
  additional_cacheable_ports: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), { minItems: 1, maxItems: 1000 }),
  ),
  browser_ttl: Type.Optional(BrowserTtl),
  cache: Flag('Whether the response can be cached.'),
  cache_key: Type.Optional(CacheKey),
  cache_reserve: Type.Optional(
    Type.Object(
      {
        eligible: Type.Boolean(),
        minimum_file_size: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 53 - 1 })),
      },
      strict,
    ),
  ),
  edge_ttl: Type.Optional(EdgeTtl),
  origin_cache_control: Flag('Cache-Control of the origin is read as HTTP has it.'),
  origin_error_page_passthru: Flag('Error pages of the origin are passed on.'),
  origin_range_requests: Type.Optional(Type.Object({ mode: Type.Enum(['on', 'off', 'default']) }, strict)),
  read_timeout: Type.Optional(
    Type.Integer({ minimum: 100, maximum: 6000, description: 'Seconds between two reads from the origin.' }),
  ),
  respect_strong_etags: Flag(
    'A response with a strong entity tag is not compressed here, so that its tag stays strong.',
  ),
  serve_stale: Type.Optional(
    Type.Object({ disable_stale_while_updating: Flag('No stale answer while updating.') }, strict),
  ),
  shared_dictionary: Type.Optional(
    Type.Object({ match_pattern: Type.String({ minLength: 1, maxLength: 4096 }) }, strict),
  ),
  strip_etags: Flag('The answer loses its ETag.'),
  strip_last_modified: Flag('The answer loses its Last-Modified.'),
  strip_set_cookie: Flag('The answer loses its Set-Cookie.'),
  vary: Type.Optional(Vary),
})

const ON_RESPONSE = new Set(['strip_etags', 'strip_last_modified', 'strip_set_cookie'])

/** Settings without effect here. */
const INERT = new Set(['shared_dictionary'])

export const setCacheSettings = action({
  name: 'set_cache_settings',
  summary: 'Changes how the response is cached, and continues.',
  phases: ['http_request_cache_settings', 'http_response_cache_settings'],
  params: Params,

  check(params, { phase }) {
    const misplaced =
      phase.layer === 'response'
        ? Object.keys(params)
            .filter((name) => !ON_RESPONSE.has(name))
            .map((name) => ({ pointer: `/${name}`, message: `is not allowed in ${phase.name}` }))
        : []
    return [
      ...misplaced,
      ...ttlIssues(params),
      ...(params.cache_key ? cacheKeyIssues(params.cache_key) : []),
      ...varyIssues(params.vary?.headers ?? {}),
    ]
  },

  inert: (params) => Object.keys(params).flatMap((name) => (INERT.has(name) ? [`/${name}`] : [])),

  prepare: (params) => (run) => {
    const { exchange } = run
    run.change(() => (exchange.decisions.cache = { ...exchange.decisions.cache, ...params }))
    return undefined
  },

  examples: [
    {
      phase: 'http_request_cache_settings',
      params: {
        cache: true,
        additional_cacheable_ports: [8443],
        browser_ttl: { mode: 'override_origin', default: 60 },
        edge_ttl: {
          mode: 'override_origin',
          default: 600,
          status_code_ttl: [
            { status_code: 404, value: -1 },
            { status_code_range: { from: 500 }, value: 0 },
          ],
        },
        cache_key: {
          ignore_query_strings_order: true,
          custom_key: { query_string: { include: { list: ['q'] } }, header: { include: ['x-kind'] } },
        },
        vary: {
          default: { action: 'bypass' },
          headers: { accept: { action: 'normalize', media_types: ['text/html'] } },
        },
      },
    },
    { phase: 'http_response_cache_settings', params: { strip_etags: true, strip_set_cookie: false } },
  ],
})

function ttlIssues({ browser_ttl, edge_ttl }: Static<typeof Params>): Issue[] {
  const needed = Object.entries({ browser_ttl, edge_ttl }).flatMap(([name, ttl]) =>
    ttl?.mode === 'override_origin' && ttl.default === undefined
      ? [{ pointer: `/${name}/default`, message: 'is required with override_origin' }]
      : [],
  )
  const byStatus = (edge_ttl?.status_code_ttl ?? []).flatMap((ttl, index) => {
    const at = `/edge_ttl/status_code_ttl/${index}`
    const { from, to } = ttl.status_code_range ?? {}
    if (ttl.status_code !== undefined || ttl.status_code_range === undefined || from === undefined || to === undefined)
      return statusIssues(at, ttl)
    return from > to
      ? [{ pointer: `${at}/status_code_range/to`, message: 'must not be below from' }]
      : statusIssues(at, ttl)
  })
  return [...needed, ...byStatus]
}

const statusIssues = (at: string, ttl: Static<typeof StatusTtl>): Issue[] =>
  (ttl.status_code === undefined) === (ttl.status_code_range === undefined)
    ? ttl.status_code === undefined
      ? [{ pointer: `${at}/status_code`, message: 'is required, or status_code_range in its place' }]
      : [{ pointer: `${at}/status_code_range`, message: 'cannot be used together with status_code' }]
    : []

function varyIssues(headers: Readonly<Record<string, Static<typeof VaryHeader>>>): Issue[] {
  return Object.entries(headers).flatMap(([name, { media_types, languages }]) => {
    const at = `/vary/headers/${pointerToken(name)}`
    const found: Issue[] = []
    if (!VARY_NAME.test(name)) found.push({ pointer: at, message: 'must be 1 to 128 of a-z, 0-9, _ and -' })
    if (media_types && name !== 'accept') found.push({ pointer: `${at}/media_types`, message: 'is for accept only' })
    if (languages && name !== 'accept-language')
      found.push({ pointer: `${at}/languages`, message: 'is for accept-language only' })
    return found
  })
}
