import { Type, type Static } from 'typebox'
import type { Issue } from '../../core/errors.js'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
import type { Effect, TerminalAction, ActionContext } from '../types.js'
import { asLocation, textFrom } from './text-values.js'
import { Expression, Flag, oneOfTwo } from './shared.js'

const FromValue = Type.Object(
  {
    target_url: Type.Object(
      {
        value: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 32_768,
            pattern: '^(https?://|/)[^\\s\\u0000-\\u001f\\u007f]*$',
            description: 'An http or https URL, or a path.',
            'x-message': 'must be an http or https URL, or a path, without spaces',
          }),
        ),
        expression: Type.Optional(Expression('Gives the URL.')),
      },
      strict,
    ),
    status_code: Type.Optional(Type.Enum([301, 302, 303, 307, 308], { description: 'Default: 301.' })),
    preserve_query_string: Flag('The query of the request is added to the target. Default: false.'),
  },
  strict,
)

const FromList = Type.Object(
  {
    name: Type.String({
      pattern: '^\\$?[a-zA-Z0-9_]{1,50}$',
      description: 'A redirect list.',
      'x-message': 'must be the name of a list: 1 to 50 letters, digits and _',
    }),
    key: Expression('Gives the URL that is looked for in the list, as http.request.full_uri does.'),
  },
  strict,
)

const SOURCE = { http_request_dynamic_redirect: 'from_value', http_request_redirect: 'from_list' } as const

export const redirect = action({
  name: 'redirect',
  summary: 'Responds with a redirect to the target of the rule or of a list.',
  phases: ['http_request_dynamic_redirect', 'http_request_redirect'],

  params: Type.Object({ from_value: Type.Optional(FromValue), from_list: Type.Optional(FromList) }, strict),

  check(params, { phase }) {
    const wanted = SOURCE[phase.name as keyof typeof SOURCE]
    const other = wanted === 'from_value' ? 'from_list' : 'from_value'
    const issues: Issue[] = []
    if (params[other]) issues.push({ pointer: `/${other}`, message: `is not allowed in ${phase.name}` })
    if (!params[wanted]) issues.push({ pointer: `/${wanted}`, message: `is required in ${phase.name}` })
    if (params.from_value) issues.push(...targetIssues(params.from_value))
    return issues
  },

  expressions({ from_value, from_list }) {
    if (from_list) return [{ pointer: '/from_list/key', text: from_list.key, gives: 'value' }]
    const text = from_value?.target_url.expression
    return text === undefined ? [] : [{ pointer: '/from_value/target_url/expression', text, gives: 'value' }]
  },

  prepare: ({ from_list, from_value }, context) =>
    from_list ? fromList(from_list, context) : fromValue(from_value, context),

  examples: [
    {
      phase: 'http_request_dynamic_redirect',
      params: {
        from_value: { target_url: { value: 'https://example.com/new' }, status_code: 308, preserve_query_string: true },
      },
    },
    {
      phase: 'http_request_dynamic_redirect',
      params: { from_value: { target_url: { expression: 'concat("https://m.example.com", http.request.uri.path)' } } },
    },
    { phase: 'http_request_redirect', params: { from_list: { name: 'moved', key: 'http.request.full_uri' } } },
  ],
})

function targetIssues({ target_url }: Static<typeof FromValue>): Issue[] {
  const issues = oneOfTwo('/from_value/target_url', target_url, 'value', 'expression')
  const { value } = target_url
  if (value !== undefined && !URL.canParse(value, 'https://host.invalid'))
    issues.push({ pointer: '/from_value/target_url/value', message: 'is not a valid URL' })
  return issues
}

const DEFAULT_STATUS = 301
const TARGET = /^(?:https?:\/\/[^/?#]|\/)/i

const redirectTo = (location: string, status: number): TerminalAction => ({
  kind: 'response',
  status,
  headers: ['location', asLocation(location)],
  body: Buffer.alloc(0),
})

function fromValue(from: Static<typeof FromValue> | undefined, { value }: ActionContext): Effect {
  if (!from) throw new TypeError('the redirect has no target')
  const { target_url, status_code = DEFAULT_STATUS, preserve_query_string: keepsQuery } = from
  const target = textFrom(target_url, value)
  return ({ context, exchange }) => {
    const url = target(context)
    if (url === undefined || !TARGET.test(url)) throw new TypeError('the target is not a URL')
    return redirectTo(keepsQuery ? withQuery(url, exchange.target) : url, status_code)
  }
}

/** Returns the URL with the query of a request target added to its own. */
function withQuery(url: string, target: string): string {
  const at = target.indexOf('?')
  if (at < 0 || at === target.length - 1) return url
  const [, base = '', fragment = ''] = /^([^#]*)(.*)$/s.exec(url) ?? []
  const joint = !base.includes('?') ? '?' : /[?&]$/.test(base) ? '' : '&'
  return base + joint + target.slice(at + 1) + fragment
}

function fromList({ name, key }: Static<typeof FromList>, { value, parts, accountId }: ActionContext): Effect {
  const list = name.replace('$', '')
  const url = textFrom({ expression: key }, value)
  return ({ context }) => {
    const found = parts.redirect(accountId, list, url(context) ?? '')
    return found ? redirectTo(found.location, found.status) : false
  }
}
