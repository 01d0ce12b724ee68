import { HEX, type BadRule } from './bad-rule.js'

const response = { status_code: 403, content_type: 'text/plain', content: 'no' }

const block = (change: object) => ({ response: { ...response, ...change } })

const limit = { characteristics: ['ip.src', 'cf.colo.id'], period: 60, requests_per_period: 10 }

const path = (change: unknown) => ({ uri: { path: change } })

const header = (name: string, change: object) => ({ headers: { [name]: change } })

const set = { operation: 'set', value: 'a' }

const badCommon = (...cases: [what: string, rule: object, ...pointers: string[]][]): BadRule[] =>
  cases.map(([what, rule, ...pointers]) => [
    what,
    'http_request_firewall_custom',
    { action: 'block', ...rule },
    ...pointers,
  ])

/** Members that every rule has. */
export const BAD_MEMBERS: readonly BadRule[] = [
  ...badCommon(
    ['an action that nobody knows', { action: 'explode' }, '/action'],
    ['an action in capitals', { action: 'BLOCK' }, '/action'],
    ['an object without a text as its action', { action: { toString: 1 } }, '/action'],
    ['an action that is a list', { action: ['block'] }, '/action'],
    ['an action that is null', { action: null }, '/action'],
    ['no action', { action: undefined }, '/action'],
    ['an action of another phase', { action: 'set_config', action_parameters: { bic: true } }, '/action'],
    [
      'a rewrite among firewall rules',
      { action: 'rewrite', action_parameters: header('a', set) },
      '/action_parameters',
    ],
    ['no expression', { expression: undefined }, '/expression'],
    ['an empty expression', { expression: '' }, '/expression'],
    ['an expression of spaces', { expression: '  ' }, '/expression'],
    ['an expression of 4,097 characters', { expression: `${'('.repeat(4096)}x` }, '/expression'],
    ['an expression that is a number', { expression: 1 }, '/expression'],
    ['an expression that is null', { expression: null }, '/expression'],
    ['a description that is a number', { description: 7 }, '/description'],
    ['a description of 501 characters', { description: 'd'.repeat(501) }, '/description'],
    ['enabled as a text', { enabled: 'true' }, '/enabled'],
    ['an empty ref', { ref: '' }, '/ref'],
    ['a ref that is a number', { ref: 5 }, '/ref'],
    ['an id in capitals', { id: HEX.toUpperCase() }, '/id'],
    ['an id that is too short', { id: 'abc' }, '/id'],
    ['logging without enabled', { logging: {} }, '/logging/enabled'],
    ['logging that is a flag', { logging: true }, '/logging'],
    ['logging with more', { logging: { enabled: true, level: 1 } }, '/logging/level'],
    ['categories outside managed rulesets', { categories: ['sqli'] }, '/categories'],
    ['no category', { categories: [] }, '/categories'],
    ['a category that is a number', { categories: [1] }, '/categories/0'],
    ['a position', { position: { index: 1 } }, '/position'],
    ['an unknown member', { priority: 1 }, '/priority'],
    ['two unknown members', { a: 1, b: 2 }, '/a', '/b'],
    ['parameters that are a list', { action_parameters: [] }, '/action_parameters'],
    ['parameters that are null', { action_parameters: null }, '/action_parameters'],
    [
      'no user name to check',
      { exposed_credential_check: { password_expression: 'a' } },
      '/exposed_credential_check/username_expression',
    ],
    [
      'no password to check',
      { exposed_credential_check: { username_expression: 'a' } },
      '/exposed_credential_check/password_expression',
    ],
    [
      'an empty expression for the password',
      { exposed_credential_check: { username_expression: 'a', password_expression: '' } },
      '/exposed_credential_check/password_expression',
    ],
    ['faults in several members', { enabled: 1, ref: '', expression: undefined }, '/enabled', '/ref', '/expression'],
    [
      'faults in members and parameters',
      { enabled: 1, action_parameters: block({ status_code: 200 }) },
      '/enabled',
      '/action_parameters/response/status_code',
    ],
  ),

  [
    'an invalid limit where nothing is counted',
    'http_request_transform',
    { action: 'rewrite', action_parameters: path({ value: '/' }), ratelimit: { ...limit, period: 0 } },
    '/ratelimit/period',
  ],
  [
    'log fields for some requests only',
    'http_log_custom_fields',
    { action: 'log_custom_field', action_parameters: { cookie_fields: [{ name: 'a' }] }, expression: 'ssl' },
    '/expression',
  ],
]
