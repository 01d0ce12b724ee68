import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { type RawHeaders, withoutHeader } from '../../http/headers.js'
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
          description: 'Name of a stored page. None are stored here: the proxy sends its own page for the status.',
        }),
      ),
      content_type: Type.Optional(Type.Enum(['application/json', 'text/html', 'text/plain', 'text/xml'])),
      status_code: Type.Optional(
        Type.Integer({ minimum: 400, maximum: 999, description: 'Default: that of the origin.' }),
      ),
    },
    strict,
  ),

  check: (params) => oneOfTwo('', params, 'content', 'asset_name'),
  inert: ({ asset_name }) => (asset_name === undefined ? [] : ['/asset_name']),

  prepare({ content, content_type: type = 'text/html', status_code }) {
    const body = content === undefined ? undefined : Buffer.from(content)
    return ({ exchange: { response } }) => {
      if (!response || response.status < 400) return false
      const status = status_code ?? response.status
      // Only a name of a stored page.
      if (!body) return { kind: 'page', status }
      const headers = OF_THE_BODY.reduce<RawHeaders>(withoutHeader, response.headers)
      return { kind: 'answer', status, headers: [...headers, 'content-type', type], body }
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
