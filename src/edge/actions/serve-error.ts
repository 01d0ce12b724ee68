import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { oneOfTwo } from './shared.js'

export const serveError = action({
  name: 'serve_error',
  summary: 'Answers in place of an error of the origin.',
  phases: ['http_custom_errors'],

  params: Type.Object(
    {
      content: Type.Optional(Type.String({ minLength: 1, maxLength: 10_240, description: 'The body.' })),
      asset_name: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'A stored body.' })),
      content_type: Type.Optional(Type.Enum(['application/json', 'text/html', 'text/plain', 'text/xml'])),
      status_code: Type.Optional(
        Type.Integer({ minimum: 400, maximum: 999, description: 'Default: that of the origin.' }),
      ),
    },
    strict,
  ),

  check: (params) => oneOfTwo('', params, 'content', 'asset_name'),

  examples: [
    {
      phase: 'http_custom_errors',
      params: { content: '{"error":"gone"}', content_type: 'application/json', status_code: 410 },
    },
    { phase: 'http_custom_errors', params: { asset_name: 'sorry', content_type: 'text/html' } },
  ],
})
