import { bad, HEX, type BadRule } from './bad-rule.js'

const response = { status_code: 403, content_type: 'text/plain', content: 'no' }

const block = (change: object) => ({ response: { ...response, ...change } })

const without = (name: keyof typeof response) => {
  const { [name]: _left, ...rest } = response
  return { response: rest }
}

const limit = { characteristics: ['ip.src', 'cf.colo.id'], period: 60, requests_per_period: 10 }

const badLimits = (...cases: [what: string, change: object | null, ...pointers: string[]][]): BadRule[] =>
  cases.map(([what, change, ...pointers]) => [
    `ratelimit: ${what}`,
    'http_ratelimit',
    { action: 'block', ...(change && { ratelimit: { ...limit, ...change } }) },
    ...pointers.map((pointer) => `/ratelimit${pointer}`),
  ])

/** Actions that judge a request, and rate limits. */
export const BAD_SECURITY: readonly BadRule[] = [
  ...bad(
    'http_request_firewall_custom',
    'block',
    ['a status of 399', block({ status_code: 399 }), '/response/status_code'],
    ['a status of 500', block({ status_code: 500 }), '/response/status_code'],
    ['a status of 403.5', block({ status_code: 403.5 }), '/response/status_code'],
    ['a status as text', block({ status_code: '403' }), '/response/status_code'],
    ['no status', without('status_code'), '/response/status_code'],
    ['no content', without('content'), '/response/content'],
    ['no content type', without('content_type'), '/response/content_type'],
    ['an empty response', { response: {} }, '/response/status_code', '/response/content_type', '/response/content'],
    ['empty content', block({ content: '' }), '/response/content'],
    ['content of 2,049 bytes', block({ content: 'ü'.repeat(1024) + 'x' }), '/response/content'],
    ['an empty content type', block({ content_type: '' }), '/response/content_type'],
    [
      'a content type that would make a header',
      block({ content_type: 'text/plain\r\nx: y' }),
      '/response/content_type',
    ],
    ['a response with more', block({ headers: {} }), '/response/headers'],
    ['unknown parameters', { status_code: 403 }, '/status_code'],
  ),
  ...bad('http_request_firewall_custom', 'challenge', ['any parameter', { a: 1 }, '/a']),
  ...bad('http_request_firewall_custom', 'js_challenge', ['any parameter', { a: 1 }, '/a']),
  ...bad('http_request_firewall_custom', 'managed_challenge', ['any parameter', { a: 1 }, '/a']),
  ...bad('http_request_firewall_custom', 'log', ['any parameter', { a: 1 }, '/a']),
  ...bad('http_request_firewall_custom', 'force_connection_close', ['any parameter', { a: 1 }, '/a']),
  ...bad('ddos_l7', 'ddos_dynamic', ['any parameter', { a: 1 }, '/a']),
  ...bad(
    'http_request_firewall_custom',
    'score',
    ['an increment of a half', { increment: 0.5 }, '/increment'],
    ['an increment as text', { increment: '1' }, '/increment'],
    ['an increment beyond all bounds', { increment: 1e300 }, '/increment'],
  ),
  ...bad('http_request_firewall_managed', 'transform_response_html', [
    'a maze with members',
    { link_maze: { a: 1 } },
    '/link_maze/a',
  ]),
  ...bad(
    'http_request_firewall_managed',
    'execute',
    ['no parameters', undefined, ''],
    ['no id', {}, '/id'],
    ['an id that is none', { id: 'x' }, '/id'],
    ['a ruleset that is not there', { id: HEX }, '/id'],
    ['empty overrides', { id: HEX, overrides: {} }, '/overrides'],
    ['an unknown override', { id: HEX, overrides: { status: 'on' } }, '/overrides/status'],
    ['an unknown sensitivity', { id: HEX, overrides: { sensitivity_level: 'high' } }, '/overrides/sensitivity_level'],
    ['no categories', { id: HEX, overrides: { categories: [] } }, '/overrides/categories'],
    [
      'a category without a name',
      { id: HEX, overrides: { categories: [{ enabled: true }] } },
      '/overrides/categories/0/category',
    ],
    [
      'a category that changes nothing',
      { id: HEX, overrides: { categories: [{ category: 'a' }] } },
      '/overrides/categories/0',
    ],
    [
      'a category twice',
      {
        id: HEX,
        overrides: {
          categories: [
            { category: 'a', enabled: true },
            { category: 'a', enabled: false },
          ],
        },
      },
      '/overrides/categories/1/category',
    ],
    ['a rule without an id', { id: HEX, overrides: { rules: [{ enabled: true }] } }, '/overrides/rules/0/id'],
    ['a rule that changes nothing', { id: HEX, overrides: { rules: [{ id: HEX }] } }, '/overrides/rules/0'],
    [
      'a threshold of a half',
      { id: HEX, overrides: { rules: [{ id: HEX, score_threshold: 0.5 }] } },
      '/overrides/rules/0/score_threshold',
    ],
    ['matched data without a key', { id: HEX, matched_data: {} }, '/matched_data/public_key'],
    ['an empty key', { id: HEX, matched_data: { public_key: '' } }, '/matched_data/public_key'],
  ),
  ...bad(
    'http_request_firewall_custom',
    'skip',
    ['no parameters', undefined, ''],
    ['nothing', {}, ''],
    ['another phase', { phase: 'next' }, '/phase'],
    ['another ruleset', { ruleset: HEX }, '/ruleset'],
    ['phase and ruleset', { phase: 'current', ruleset: 'current' }, '/phase'],
    ['phase and phases', { phase: 'current', phases: ['http_ratelimit'] }, '/phase'],
    ['phase and rulesets', { phase: 'current', rulesets: [HEX] }, '/phase'],
    ['phases and rulesets', { phases: ['http_ratelimit'], rulesets: [HEX] }, '/phases'],
    ['phases and rules', { phases: ['http_ratelimit'], rules: { [HEX]: [HEX] } }, '/phases'],
    ['ruleset and rulesets', { ruleset: 'current', rulesets: [HEX] }, '/ruleset'],
    ['ruleset and rules', { ruleset: 'current', rules: { [HEX]: [HEX] } }, '/ruleset'],
    ['no phases', { phases: [] }, '/phases'],
    ['an unknown phase', { phases: ['http_ratelimits'] }, '/phases/0'],
    ['a phase twice', { phases: ['http_ratelimit', 'http_ratelimit'] }, '/phases/1'],
    ['an unknown product', { products: ['BIC'] }, '/products/0'],
    ['a product twice', { products: ['bic', 'waf', 'bic'] }, '/products/2'],
    ['an id that is none', { rulesets: ['x'] }, '/rulesets/0'],
    ['rules of no ruleset', { rules: {} }, '/rules'],
    ['rules of something else', { rules: { abc: [HEX] } }, '/rules/abc'],
    ['no rules of what has a line break', { rules: { 'a\nb': null } }, '/rules/a\nb'],
    ['an empty list of rules', { rules: { [HEX]: [] } }, `/rules/${HEX}`],
    ['a rule that is none', { rules: { [HEX]: ['x'] } }, `/rules/${HEX}/0`],
  ),
  ...bad('http_request_firewall_managed', 'skip', ['the rest of the phase', { phase: 'current' }, '/phase']),

  ...badLimits(
    ['none', null, ''],
    ['no characteristics', { characteristics: undefined }, '/characteristics'],
    ['an empty list of characteristics', { characteristics: [] }, '/characteristics'],
    ['an empty characteristic', { characteristics: [''] }, '/characteristics/0'],
    ['a characteristic twice', { characteristics: ['ip.src', 'cf.colo.id', 'ip.src'] }, '/characteristics/2'],
    ['address and visitor id', { characteristics: ['cf.unique_visitor_id', 'ip.src'] }, '/characteristics/0'],
    ['a header in capitals', { characteristics: ['ip.src', 'http.request.headers["X-Key"]'] }, '/characteristics/1'],
    ['no period', { period: undefined }, '/period'],
    ['a period of 0', { period: 0 }, '/period'],
    ['a period of more than a day', { period: 86_401 }, '/period'],
    ['a period of a half', { period: 0.5 }, '/period'],
    ['no threshold', { requests_per_period: undefined }, '/requests_per_period'],
    ['a threshold of 0', { requests_per_period: 0 }, '/requests_per_period'],
    ['a negative timeout', { mitigation_timeout: -1 }, '/mitigation_timeout'],
    ['a timeout of more than a day', { mitigation_timeout: 86_401 }, '/mitigation_timeout'],
    ['requests_to_origin as text', { requests_to_origin: 'yes' }, '/requests_to_origin'],
    ['a long counting expression', { counting_expression: 'x'.repeat(4097) }, '/counting_expression'],
    ['a score without a header', { score_per_period: 5 }, '/score_response_header_name'],
    ['a header without a score', { score_response_header_name: 'x-score' }, '/score_per_period'],
    ['a score of 0', { score_per_period: 0, score_response_header_name: 'a' }, '/score_per_period'],
    [
      'a header that is none',
      { score_per_period: 1, score_response_header_name: 'a b' },
      '/score_response_header_name',
    ],
    ['an unknown member', { limit: 1 }, '/limit'],
    ['a list', { characteristics: 'ip.src' }, '/characteristics'],
  ),
]
