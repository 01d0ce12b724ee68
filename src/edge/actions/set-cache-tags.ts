import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { Expression, oneOfTwo, Texts } from './shared.js'

export const setCacheTags = action({
  name: 'set_cache_tags',
  summary: 'Changes the tags by which the answer of the origin can be purged, and goes on.',
  phases: ['http_response_cache_settings'],

  params: Type.Object(
    {
      operation: Type.Enum(['add', 'remove', 'set']),
      values: Type.Optional(Texts('The tags.')),
      expression: Type.Optional(Expression('Gives the list of tags.')),
    },
    strict,
  ),

  check: (params) => oneOfTwo('', params, 'values', 'expression'),
  expressions: ({ expression }) =>
    expression === undefined ? [] : [{ pointer: '/expression', text: expression, gives: 'array' }],

  examples: [
    { phase: 'http_response_cache_settings', params: { operation: 'add', values: ['blog', 'news'] } },
    {
      phase: 'http_response_cache_settings',
      params: { operation: 'set', expression: 'split(http.response.headers["tags"][0], ",", 16)' },
    },
  ],
})
