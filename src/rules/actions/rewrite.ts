import { Type, type Static } from 'typebox'
import type { Issue } from '../../core/errors.js'
import { mapOf, pointerToken, strict } from '../../core/schema.js'
import { action } from '../action.js'
import type { PhaseName } from '../phases.js'
import { type RawHeaders, withHeader, withoutHeader } from '../../http/headers.js'
import type { ActionContext, Effect, RulePlace } from '../types.js'
import { asPath, asQuery, headerValue, textFrom, type TextOf } from './text-values.js'
import { headerRefusal } from './header-names.js'
import { Expression, HeaderValue, oneOfTwo } from './shared.js'

const NewPath = Type.Object(
  {
    value: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 32_768,
        pattern: '^[^\\s?#\\u0000-\\u001f\\u007f]+$',
        'x-message': 'must be a path without white space, ? or #',
      }),
    ),
    expression: Type.Optional(Expression('Gives the path.')),
  },
  { ...strict, description: 'The new path. A missing leading / is added.' },
)

const NewQuery = Type.Object(
  {
    value: Type.Optional(
      Type.String({
        maxLength: 32_768,
        pattern: '^[^\\s#\\u0000-\\u001f\\u007f]*$',
        'x-message': 'must be a query, without white space and #',
      }),
    ),
    expression: Type.Optional(Expression('Gives the query.')),
  },
  { ...strict, description: 'The new query without its ?; an empty one removes it.' },
)

const HeaderChange = Type.Object(
  {
    operation: Type.Enum(['add', 'set', 'remove']),
    value: Type.Optional(HeaderValue('The new value.')),
    expression: Type.Optional(Expression('Gives the new value; an empty one removes the header.')),
  },
  strict,
)
type HeaderChange = Static<typeof HeaderChange>

const Uri = Type.Object(
  {
    path: Type.Optional(NewPath),
    query: Type.Optional(NewQuery),
    origin: Type.Optional(Type.Boolean({ description: 'Changes what the origin sees.' })),
  },
  strict,
)

const Headers = mapOf(HeaderChange, {
  minProperties: 1,
  maxProperties: 100,
  'x-message': 'must name 1 to 100 headers',
  description: 'Changes by the name of the header.',
})

const URI_PHASES: ReadonlySet<PhaseName> = new Set(['http_request_sanitize', 'http_request_transform'])

export const rewrite = action({
  name: 'rewrite',
  summary: 'Changes the URL or the headers, and continues.',
  phases: [
    'http_request_sanitize',
    'http_request_transform',
    'http_request_late_transform',
    'http_response_headers_transform',
    'http_request_firewall_custom',
  ],

  params: Type.Object({ uri: Type.Optional(Uri), headers: Type.Optional(Headers) }, strict),

  check(params, place) {
    const { name } = place.phase
    const [wanted, other] = URI_PHASES.has(name) ? (['uri', 'headers'] as const) : (['headers', 'uri'] as const)
    const issues = misplaced(place)
    if (params[other]) issues.push({ pointer: `/${other}`, message: `is not allowed in ${name}` })
    if (!params[wanted]) issues.push({ pointer: `/${wanted}`, message: `is required in ${name}` })
    if (params.uri) issues.push(...uriIssues(params.uri))
    if (params.headers) issues.push(...changeIssues(params.headers, name))
    return issues
  },

  expressions: ({ uri, headers = {} }) =>
    [
      ['/uri/path/expression', uri?.path?.expression] as const,
      ['/uri/query/expression', uri?.query?.expression] as const,
      ...Object.entries(headers).map(
        ([name, { expression }]) => [`/headers/${pointerToken(name)}/expression`, expression] as const,
      ),
    ].flatMap(([pointer, text]) => (text === undefined ? [] : [{ pointer, text, gives: 'value' }])),

  prepare({ uri, headers = {} }, context) {
    return uri ? rewriteUri(uri, context) : rewriteHeaders(headers, context)
  },

  examples: [
    { phase: 'http_request_transform', params: { uri: { path: { value: '/new' }, query: { value: '' } } } },
    {
      phase: 'http_request_transform',
      params: { uri: { path: { expression: 'lower(http.request.uri.path)' }, origin: true } },
    },
    {
      phase: 'http_request_late_transform',
      params: {
        headers: {
          'X-Source': { operation: 'set', value: 'edge' },
          'X-Country': { operation: 'add', expression: 'ip.src.country' },
          Cookie: { operation: 'remove' },
        },
      },
    },
    { phase: 'http_response_headers_transform', params: { headers: { 'X-Powered-By': { operation: 'remove' } } } },
  ],
})

/**
 * Reports a rewrite among firewall rules that does not mark requests with exposed credentials in custom account
 * rulesets.
 */
function misplaced({ phase, kind, level, credentials }: RulePlace): Issue[] {
  if (phase.name !== 'http_request_firewall_custom' || (kind === 'custom' && level === 'account' && credentials))
    return []
  const where = 'rules of custom account rulesets with exposed_credential_check'
  return [{ pointer: '', message: `rewrite is allowed in ${phase.name} only for ${where}` }]
}

function uriIssues({ path, query }: Static<typeof Uri>): Issue[] {
  if (!path && !query) return [{ pointer: '/uri/path', message: 'is required, or query in its place' }]
  return [
    ...(path ? oneOfTwo('/uri/path', path, 'value', 'expression') : []),
    ...(query ? oneOfTwo('/uri/query', query, 'value', 'expression') : []),
  ]
}

function changeIssues(headers: Readonly<Record<string, HeaderChange>>, phase: PhaseName): Issue[] {
  const seen = new Set<string>()
  return Object.entries(headers).flatMap(([name, change]) => {
    const pointer = `/headers/${pointerToken(name)}`
    const repeated = seen.has(name.toLowerCase())
    seen.add(name.toLowerCase())
    if (repeated) return [{ pointer, message: 'is named twice; upper and lower case are the same' }]
    const refused = headerRefusal(name, change.operation, phase)
    if (refused) return [{ pointer, message: refused }]
    return valueIssues(pointer, change)
  })
}

function valueIssues(pointer: string, change: HeaderChange): Issue[] {
  if (change.operation !== 'remove') return oneOfTwo(pointer, change, 'value', 'expression')
  return (['value', 'expression'] as const).flatMap((member) =>
    change[member] === undefined ? [] : [{ pointer: `${pointer}/${member}`, message: 'is not allowed with remove' }],
  )
}

/** Cost of escaping a path or a query, in steps of the budget per byte. */
const ESCAPE_STEPS = 8

function rewriteUri({ path, query }: Static<typeof Uri>, { value }: ActionContext): Effect {
  const newPath = path && textFrom(path, value)
  const newQuery = query && textFrom(query, value)
  return (run) => {
    const { context, exchange } = run
    const pathText = newPath?.(context)
    const queryText = newQuery?.(context)
    context.spend(((pathText ?? '').length + (queryText ?? '').length) * ESCAPE_STEPS)
    run.change(() => {
      const { target } = exchange
      const at = target.indexOf('?')
      const oldPath = at < 0 ? target : target.slice(0, at)
      const oldQuery = at < 0 ? '' : target.slice(at + 1)
      const query = queryText === undefined ? oldQuery : asQuery(queryText)
      exchange.target = (pathText === undefined ? oldPath : asPath(pathText)) + (query && `?${query}`)
    })
    return undefined
  }
}

/** One change of a header, prepared. Without a text, it removes the header. */
interface Change {
  readonly name: string
  readonly adds: boolean
  readonly text: TextOf | undefined
}

function rewriteHeaders(headers: Readonly<Record<string, HeaderChange>>, { value, place }: ActionContext): Effect {
  const changes = Object.entries(headers).map(([name, change]): Change => {
    const text = change.operation === 'remove' ? undefined : textFrom(change, value)
    return { name, adds: change.operation === 'add', text }
  })
  const ofResponse = place.phase.layer === 'response'
  return (run) => {
    const { context, exchange } = run
    const texts = changes.map(({ text }) => {
      const found = text?.(context)
      if (found === undefined) return ''
      context.spend(found.length)
      return headerValue(found)
    })
    const changed = (fields: RawHeaders): string[] =>
      changes.reduce((fields, change, i) => changedField(fields, change, texts[i] ?? ''), [...fields])
    run.change(() => {
      if (ofResponse) {
        if (exchange.response) exchange.response = { ...exchange.response, headers: changed(exchange.response.headers) }
      } else {
        exchange.clientHeaders = changed(exchange.clientHeaders)
        exchange.headers = changed(exchange.headers)
      }
    }, changes.length)
    return undefined
  }
}

function changedField(fields: string[], { name, adds }: Change, text: string): string[] {
  if (adds) return text === '' ? fields : [...fields, name, text]
  return text === '' ? withoutHeader(fields, name.toLowerCase()) : withHeader(fields, name, text)
}
