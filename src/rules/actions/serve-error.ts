import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { type RawHeaders, withoutHeader } from '../../http/headers.js'
import { contentTypeOf, PageTemplate, templateOf, type PageValues } from '../page-template.js'
import type { Evaluate } from '../../expr/index.js'
import { account, zone } from '../../core/scope.js'
import type { RuleRun } from '../types.js'
import { oneOfTwo } from './shared.js'

/** Headers that describe the replaced body. */
const OF_THE_BODY = [
  'content-type',
  'content-length',
  'content-encoding',
  'content-range',
  'etag',
  'last-modified',
  'accept-ranges',
]

export const serveError = action({
  name: 'serve_error',
  summary: 'Replaces error responses: of the origin, of the proxy and of block and rate limit rules.',
  phases: ['http_custom_errors'],

  params: Type.Object(
    {
      content: Type.Optional(Type.String({ minLength: 1, maxLength: 10_240, description: 'The body.' })),
      asset_name: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 200,
          description:
            'Name of a stored page of the same account or zone (`custom_pages/assets`). The rule does not act if no page has this name.',
        }),
      ),
      content_type: Type.Optional(Type.Enum(['application/json', 'text/html', 'text/plain', 'text/xml'])),
      status_code: Type.Optional(
        Type.Integer({ minimum: 400, maximum: 999, description: 'Default: the status of the origin.' }),
      ),
    },
    strict,
  ),

  check: (params) => oneOfTwo('', params, 'content', 'asset_name'),

  prepare({ content, asset_name: name, content_type: type, status_code }, { place, accountId, parts, value }) {
    const inline = content === undefined ? undefined : new PageTemplate(content)
    const country = value('ip.src.country')
    return (run) => {
      const { response, zone: own } = run.exchange
      if (!response || response.status < 400) return false
      const status = status_code ?? response.status
      const scope = place.level === 'zone' ? zone(own.id) : account(accountId)
      const page = name === undefined ? undefined : parts.errorAsset(scope, name)
      const template = inline ?? (page && templateOf(page))
      // No page is stored under this name, so the response stays unchanged.
      if (!template) return false
      const headers = OF_THE_BODY.reduce<RawHeaders>(withoutHeader, response.headers)
      const sent = page ? contentTypeOf(type ?? page.type) : (type ?? 'text/html')
      const body = template.render(valuesOf(run, country))
      return { kind: 'response', status, headers: [...headers, 'content-type', sent], body }
    }
  },

  examples: [
    {
      phase: 'http_custom_errors',
      params: { content: '{"error":"gone"}', content_type: 'application/json', status_code: 410 },
    },
    { phase: 'http_custom_errors', params: { asset_name: 'sorry', content_type: 'text/html', status_code: 503 } },
  ],
})

/** Returns the values of the tokens that a page can have in it. */
const valuesOf = ({ exchange, context }: RuleRun, country: Evaluate): PageValues => ({
  clientAddress: exchange.clientAddress,
  rayId: exchange.rayId,
  country() {
    const code = country(context)
    return typeof code === 'string' ? code : ''
  },
})
