import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import { toBytes, type Value } from '../../expr/index.js'
import { members } from '../../http/accept.js'
import { headerValues, withHeader, withoutHeader } from '../../http/headers.js'
import { headerValue } from './text-values.js'
import { Expression, LIST_STEPS, listLength, oneOfTwo, Texts } from './shared.js'

/** The header field that sends the tags to caches. */
const NAME = 'cache-tag'

const listed = (values: readonly string[]): string[] => values.flatMap((value) => [...members(value)])

const tagsOf = (value: Value | undefined): string[] =>
  Array.isArray(value) ? value.flatMap((tag) => (typeof tag === 'string' ? headerValue(tag) || [] : [])) : []

export const setCacheTags = action({
  name: 'set_cache_tags',
  summary: 'Changes the tags by which the response of the origin can be purged, and continues.',
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

  prepare({ operation, values, expression }, { value }) {
    const evaluate = expression === undefined ? undefined : value(expression)
    const fixed = (values ?? []).map((tag) => headerValue(toBytes(tag)))
    return (run) => {
      const { context, exchange } = run
      const tags = evaluate ? tagsOf(evaluate(context)) : fixed
      const unwanted = new Set(tags)
      context.spend(listLength(exchange.response?.headers, NAME) * LIST_STEPS)
      run.change(() => {
        if (!exchange.response) return
        const { headers } = exchange.response
        const old = operation === 'set' ? [] : listed(headerValues(headers, NAME))
        const left = operation === 'remove' ? old.filter((tag) => !unwanted.has(tag)) : [...new Set([...old, ...tags])]
        const changed = left.length > 0 ? withHeader(headers, NAME, left.join(',')) : withoutHeader(headers, NAME)
        exchange.response = { ...exchange.response, headers: changed }
      }, tags.length)
      return undefined
    }
  },

  examples: [
    { phase: 'http_response_cache_settings', params: { operation: 'add', values: ['blog', 'news'] } },
    {
      phase: 'http_response_cache_settings',
      params: { operation: 'set', expression: 'split(http.response.headers["tags"][0], ",", 16)' },
    },
  ],
})
