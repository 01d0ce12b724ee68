import { Type, type Static, type TObject } from 'typebox'
import { trimmed } from '../../core/bytes.js'
import type { Issue } from '../../core/errors.js'
import { strict } from '../../core/schema.js'
import { toBytes } from '../../expr/index.js'
import { action } from '../action.js'
import { headerValues, type RawHeaders } from '../../http/headers.js'
import type { LogFields } from '../decisions.js'
import type { RuleExchange } from '../types.js'
import { NotEmpty, repeats } from './shared.js'

const HeaderName = Type.String({
  maxLength: 256,
  pattern: "^[!#$%&'*+.^_`|~0-9a-z-]+$",
  description: 'Lower-case name of a header field.',
  'x-message': 'must be the name of a header in lower case',
})
const CookieName = Type.String({ minLength: 1, maxLength: 256, description: 'Names are case-sensitive.' })

const Requested = Type.Object({ name: HeaderName }, strict)
const Responded = Type.Object(
  {
    name: HeaderName,
    preserve_duplicates: Type.Optional(Type.Boolean({ description: 'All values, not the first. Default: false.' })),
  },
  strict,
)
const fields = <T extends TObject>(item: T, description: string) =>
  Type.Optional(Type.Array(item, { minItems: 1, maxItems: 100, description }))

type Named = readonly { readonly name: string }[]

/** Reports headers that are logged both raw and transformed. */
function both(raw: Named, transformed: Named, at: string): Issue[] {
  const names = new Set(raw.map(({ name }) => name))
  return transformed.flatMap(({ name }, index) =>
    names.has(name) ? [{ pointer: `/${at}/${index}/name`, message: `${name} is logged raw already` }] : [],
  )
}

const ranges = (headers: Named, at: string): Issue[] =>
  headers.flatMap(({ name }, index) =>
    name === 'range' ? [{ pointer: `/${at}/${index}/name`, message: 'the range header cannot be logged' }] : [],
  )

const Params = NotEmpty({
  request_fields: fields(Requested, 'Request headers as the client sent them.'),
  transformed_request_fields: fields(Requested, 'Request headers as the origin got them.'),
  raw_response_fields: fields(Responded, 'Response headers as the origin sent them.'),
  response_fields: fields(Responded, 'Response headers as the client got them.'),
  cookie_fields: fields(Type.Object({ name: CookieName }, strict), 'Cookies of the request.'),
})

export const logCustomField = action({
  name: 'log_custom_field',
  summary: 'Adds headers and cookies to the log record of the request.',
  phases: ['http_log_custom_fields'],

  params: Params,

  check(params) {
    const {
      request_fields = [],
      transformed_request_fields = [],
      raw_response_fields = [],
      response_fields = [],
    } = params
    return [
      ...Object.entries(params).flatMap(([member, items]) =>
        repeats(`/${member}`, items, ({ name }: { name: string }) => name, 'name'),
      ),
      ...both(request_fields, transformed_request_fields, 'transformed_request_fields'),
      ...both(raw_response_fields, response_fields, 'response_fields'),
      ...ranges(request_fields, 'request_fields'),
      ...ranges(transformed_request_fields, 'transformed_request_fields'),
    ]
  },

  prepare: (params) => (run) => {
    run.exchange.decisions.logFields = loggedFields(params, run.exchange)
    run.leavePhase()
    return undefined
  },

  examples: [
    {
      phase: 'http_log_custom_fields',
      params: {
        cookie_fields: [{ name: 'Session' }],
        request_fields: [{ name: 'content-type' }],
        transformed_request_fields: [{ name: 'host' }],
        response_fields: [{ name: 'server', preserve_duplicates: false }],
        raw_response_fields: [{ name: 'allow', preserve_duplicates: true }],
      },
    },
  ],
})

function loggedFields(params: Static<typeof Params>, { rawHeaders, clientHeaders, response }: RuleExchange): LogFields {
  const fields = {
    RequestHeaders: record<string>(),
    ResponseHeaders: record<string | string[]>(),
    Cookies: record<string>(),
  }
  const requested = (items: Named = [], headers: RawHeaders) => {
    for (const { name } of items) {
      const [value] = headerValues(headers, name)
      if (value !== undefined) fields.RequestHeaders[name] = value
    }
  }
  const responded = (items: readonly Static<typeof Responded>[] = [], headers: RawHeaders = []) => {
    for (const { name, preserve_duplicates: all } of items) {
      const values = headerValues(headers, name)
      if (values[0] !== undefined) fields.ResponseHeaders[name] = all ? values : values[0]
    }
  }
  requested(params.request_fields, rawHeaders)
  requested(params.transformed_request_fields, clientHeaders)
  responded(params.raw_response_fields, response?.originHeaders)
  responded(params.response_fields, response?.headers)
  const cookies = params.cookie_fields && cookiesOf(rawHeaders)
  for (const { name } of params.cookie_fields ?? []) {
    const value = cookies?.get(toBytes(name))
    if (value !== undefined) fields.Cookies[name] = value
  }
  return fields
}

// Has no prototype, because the names come from the rule and the client.
const record = <T>(): Record<string, T> => Object.create(null) as Record<string, T>

/** Returns the first value of each cookie. */
function cookiesOf(headers: RawHeaders): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const pair of headerValues(headers, 'cookie').join(';').split(';')) {
    const equals = pair.indexOf('=')
    const name = trimmed(pair, 0, Math.max(equals, 0))
    if (equals > 0 && !found.has(name)) found.set(name, trimmed(pair, equals + 1, pair.length))
  }
  return found
}
