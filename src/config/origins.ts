import { Type } from 'typebox'
import type { Issue } from '../core/errors.js'
import { strict } from '../core/schema.js'
import { Duration } from './units.js'

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const MAX_WEIGHT = 1000

const BALANCE = {
  pattern: `^(round_robin|least_requests|client_address|(header|cookie):${TOKEN})$`,
  'x-message': 'must be round_robin, least_requests, client_address, header:NAME or cookie:NAME',
}

/** Options of a zone about its origins. */
export const ORIGIN_OPTIONS = {
  origin: Type.Optional(
    Type.String({
      pattern: '^(demo|https?://[^\\s/?#@]+/?|unix:/[^\\s?#]+)$',
      description:
        'http or https URL of the origin without a path, or unix:/PATH; `demo` is the bundled sample site. ' +
        'Not together with origins.',
      examples: ['http://127.0.0.1:9000'],
      'x-message': 'must be http://host:port, https://host:port, unix:/PATH or demo',
      'x-shown': true,
    }),
  ),
  origins: Type.Optional(
    Type.Array(
      Type.Object(
        {
          url: Type.String({
            pattern: '^(https?://[^\\s/?#@]+/?|unix:/[^\\s?#]+)$',
            description: 'http or https URL without a path, or unix:/PATH.',
            examples: ['http://10.0.0.1:9000'],
            'x-message': 'must be http://host:port, https://host:port or unix:/PATH',
          }),
          weight: Type.Integer({
            minimum: 1,
            maximum: MAX_WEIGHT,
            default: 1,
            description: 'Share of requests, relative to the other origins.',
          }),
          backup: Type.Boolean({ default: false, description: 'Used only if no other origin is up.' }),
          connections: Type.Optional(
            Type.Integer({
              minimum: 1,
              description:
                'Maximum connections; further requests go to other origins, or wait. Default: proxy.origin.connections.',
              examples: [64],
            }),
          ),
        },
        strict,
      ),
      { minItems: 1, maxItems: 256, description: 'Several origins, instead of origin.', 'x-shown': true },
    ),
  ),
  origin_proxy_protocol: Type.Union([Type.Literal('off'), Type.Literal('v1'), Type.Literal('v2')], {
    default: 'off',
    description:
      'PROXY header with the address of the client at the beginning of each connection to an origin. Each request then ' +
      'has its own connection.',
  }),
  balance: Type.String({
    ...BALANCE,
    default: 'round_robin',
    description:
      'How an origin is chosen: round_robin, least_requests, or the same origin for the same client_address, ' +
      'header:NAME or cookie:NAME.',
  }),
  retries: Type.Integer({
    minimum: 0,
    maximum: 10,
    default: 1,
    description:
      'Other origins tried after a failure, for GET, HEAD and OPTIONS without a body before a byte of the response, and ' +
      'for other requests of which nothing was sent. At most a fifth of all requests is sent again.',
  }),
  health: Type.Optional(
    Type.Object(
      {
        path: Type.String({
          pattern: '^/[\\x21-\\x7e]*$',
          default: '/',
          description: 'Path that is requested, with the name of the zone as host.',
          'x-message': 'must be a path such as /healthz',
        }),
        interval: Duration('5s', 'Time between two checks of one origin.'),
        timeout: Duration('2s', 'Time for connection and response; a slower origin fails the check.'),
        healthy_after: Type.Integer({
          minimum: 1,
          default: 2,
          description: 'Successes in a row after which it is up.',
        }),
        unhealthy_after: Type.Integer({
          minimum: 1,
          default: 3,
          description: 'Failures in a row after which it is down.',
        }),
        status: Type.String({
          pattern: '^[1-5]\\d\\d(-[1-5]\\d\\d)?(, ?[1-5]\\d\\d(-[1-5]\\d\\d)?)*$',
          default: '200-399',
          description: 'Statuses of a success: numbers and ranges.',
          'x-message': 'must be statuses and ranges, as in 200-299,304',
        }),
      },
      {
        ...strict,
        description:
          'Active checks of every origin. Without them an origin is down for 10s to 60s after three requests in a row ' +
          'without a response.',
      },
    ),
  ),
}

/** The same options for a path of a zone. An absent option is taken from the zone. */
export const PATH_ORIGIN_OPTIONS = {
  origin: ORIGIN_OPTIONS.origin,
  origins: ORIGIN_OPTIONS.origins,
  balance: Type.Optional(
    Type.String({ ...BALANCE, description: 'Default: that of the zone.', examples: ['least_requests'] }),
  ),
  retries: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 10, description: 'Default: that of the zone.', examples: [1] }),
  ),
  health: ORIGIN_OPTIONS.health,
}

interface Source {
  readonly origin?: string
  readonly origins?: readonly { readonly url: string }[]
  readonly root?: unknown
}

/** Returns issues of a zone's origins that the schema cannot express. `isOptional`: a zone can be without them. */
export function originIssues({ origin, origins, root }: Source, pointer: string, isOptional = false): Issue[] {
  const given = Object.entries({ origin, origins, root }).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  )
  if (given.length === 0 && !isOptional)
    return [{ pointer: `${pointer}/origin`, message: 'is required; set origin, origins for several, or root' }]
  const [first, second] = given
  if (second !== undefined)
    return [{ pointer: `${pointer}/${second}`, message: `cannot be used together with ${first}; remove one of them` }]
  const urls = (origins ?? []).map(({ url }) => url.replace(/\/$/, '').toLowerCase())
  return [...(origins?.map(({ url }) => url) ?? (origin === undefined ? [] : [origin]))].flatMap((url, index) => {
    const at = origins ? `${pointer}/origins/${index}/url` : `${pointer}/origin`
    if (url !== 'demo' && !url.startsWith('unix:') && !URL.canParse(url))
      return [{ pointer: at, message: `is not a URL: ${url}` }]
    if (urls.indexOf(url.replace(/\/$/, '').toLowerCase()) < index && origins)
      return [{ pointer: at, message: `${url} is a duplicate; set weight instead` }]
    return []
  })
}
