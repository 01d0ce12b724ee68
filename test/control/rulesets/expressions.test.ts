import t from 'tap'
import type { PhaseName } from '../../../src/rules/phases.js'
import { rulesIssues } from '../../../src/rules/rulesets/validate.js'
import { rulesHints } from '../../../src/rules/rulesets/hints.js'
import { kindsOf, phaseNamed } from '../../../src/rules/phases.js'
import type { Rule } from '../../../src/core/model/ruleset.js'
import { ACCOUNT, client, CONFIG, ZONE } from '../client.js'
import { AT, custom } from './helper.js'

const LISTS = [
  { name: 'office', kind: 'ip' as const, items: ['192.0.2.0/24'] },
  { name: 'shops', kind: 'hostname' as const, items: ['*.example.com'] },
  { name: 'clouds', kind: 'asn' as const, items: [64496] },
  { name: 'moved', kind: 'redirect' as const, items: [] },
]
const config = { ...CONFIG, lists: LISTS }

const path = (phase: PhaseName) =>
  kindsOf(phaseNamed(phase)!, 'zone').length > 0
    ? `/zones/${ZONE}/rulesets/phases/${phase}/entrypoint`
    : `/accounts/${ACCOUNT}/rulesets/phases/${phase}/entrypoint`

const FIREWALL = 'http_request_firewall_custom'
const limit = { characteristics: ['ip.src'], period: 10, requests_per_period: 5 }
const counted = (ratelimit: object) => ({ action: 'block', ratelimit: { ...limit, ...ratelimit } })
const rewritten = (expression: string) => ({
  action: 'rewrite',
  action_parameters: { uri: { path: { expression } } },
})

/** The phase, members of the rule besides an expression that is always true, where the error is, and its message. */
const REFUSED: [what: string, phase: PhaseName, rule: object, pointer: string, message: RegExp][] = [
  ['an unknown field', FIREWALL, { expression: 'http.hoost eq "x"' }, '/expression', /\n\^{10} unknown identifier$/],
  ['the end missing', FIREWALL, { expression: 'ssl and' }, '/expression', /\(1:8\):\nssl and\n {7}\^ /],
  [
    'a fault in the second line',
    FIREWALL,
    { expression: 'ssl and\n  http.host == 7' },
    '/expression',
    /error \(2:16\):\n {2}http\.host == 7\n {15}\^ /,
  ],
  ['a value where a filter is asked for', FIREWALL, { expression: 'http.host' }, '/expression', /\(1:10\)/],
  [
    'a comparison of each element',
    FIREWALL,
    { expression: 'http.request.headers.names[*] == "a"' },
    '/expression',
    /Bool/,
  ],
  ['a pattern that is none', FIREWALL, { expression: 'http.host matches "("' }, '/expression', /\(1:\d+\)/],
  [
    'a field of the response in a request phase',
    FIREWALL,
    { expression: 'http.response.code eq 200' },
    '/expression',
    /field http\.response\.code is not available in http_request_firewall_custom/,
  ],
  ['a name for rate limits only', FIREWALL, { expression: 'cf.colo.id eq "x"' }, '/expression', /unknown identifier/],
  [
    'a function for values in a filter',
    'http_request_transform',
    { ...rewritten('http.request.uri.path'), expression: 'regex_replace(http.host, "a", "b") eq "x"' },
    '/expression',
    /regex_replace is allowed in the value of an action only/,
  ],
  [
    'an unknown list',
    FIREWALL,
    { expression: 'ip.src in $offices' },
    '/expression',
    /\^ list \$offices not found; create/,
  ],
  ['a managed list', FIREWALL, { expression: 'ip.src in $cf.vpn' }, '/expression', /managed lists are not part/],
  [
    'a list of another kind',
    FIREWALL,
    { expression: 'ssl and http.host in $office' },
    '/expression',
    /\n {8}\^+ the list \$office holds addresses; host names are required$/,
  ],
  ['a list of redirects', FIREWALL, { expression: 'http.host in $moved' }, '/expression', /holds redirects/],
  [
    'a counting expression with a fault',
    'http_ratelimit',
    counted({ counting_expression: 'http.response.cod eq 1' }),
    '/ratelimit/counting_expression',
    /^'http\.response\.cod eq 1' is not a valid value for counting_expression because/,
  ],
  [
    'an unknown characteristic',
    'http_ratelimit',
    counted({ characteristics: ['ip.src', 'ip.sorc'] }),
    '/ratelimit/characteristics/1',
    /unknown identifier/,
  ],
  [
    'a comparison as characteristic',
    'http_ratelimit',
    counted({ characteristics: ['ip.src eq 1.1.1.1'] }),
    '/ratelimit/characteristics/0',
    /is not a valid value for characteristics .*\(1:7\)/s,
  ],
  [
    'a path that is an address',
    'http_request_transform',
    rewritten('ip.src'),
    '/action_parameters/uri/path/expression',
    /must give a text or a number, gives Ip: to_string/,
  ],
  [
    'a path that is a list',
    'http_request_transform',
    rewritten('http.request.headers["a"]'),
    '/action_parameters/uri/path/expression',
    /gives Array<Bytes>: \[0\] is its first element/,
  ],
  [
    'two replacements',
    'http_request_transform',
    rewritten('regex_replace(regex_replace(http.request.uri.path, "a", "b"), "c", "d")'),
    '/action_parameters/uri/path/expression',
    /at most one regex_replace/,
  ],
  [
    'tags that are one text',
    'http_response_cache_settings',
    { action: 'set_cache_tags', action_parameters: { operation: 'set', expression: 'http.host' } },
    '/action_parameters/expression',
    /must give a list of texts, gives Bytes/,
  ],
  [
    'redirects from a list that is not there',
    'http_request_redirect',
    { action: 'redirect', action_parameters: { from_list: { name: 'gone', key: 'http.request.full_uri' } } },
    '/action_parameters/from_list/name',
    /list \$gone not found/,
  ],
  [
    'redirects from a list of addresses',
    'http_request_redirect',
    { action: 'redirect', action_parameters: { from_list: { name: '$office', key: 'http.request.full_uri' } } },
    '/action_parameters/from_list/name',
    /is of kind ip, not redirect/,
  ],
  [
    'redirects by a key that is no text',
    'http_request_redirect',
    { action: 'redirect', action_parameters: { from_list: { name: 'moved', key: 'ssl' } } },
    '/action_parameters/from_list/key',
    /gives Bool/,
  ],
]

t.test('expressions that cannot run are refused, with their place in the body and in the text', async (t) => {
  const { call, store } = await client(t, { config })
  const good = { expression: 'true', action: 'block' }
  for (const [what, phase, rule, pointer, message] of REFUSED) {
    const base = { expression: 'true', action: 'block', ...rule }
    const first = phase === FIREWALL ? [good] : []
    const { status, body } = await call('PUT', path(phase), { rules: [...first, base] })
    t.equal(status, 400, what)
    t.equal(body.errors.length, 1, what)
    t.match(body.errors[0], { code: 20005, message, source: { pointer: `/rules/${first.length}${pointer}` } }, what)
  }
  t.equal([...store.records()].length, 0)
})

t.test('the same on single rules, with pointers to the rule itself, and in dry runs', async (t) => {
  const api = await client(t, { config })
  const { path, rules } = await custom(api, 'a')
  const bad = { expression: 'http.hoost eq "x"' }
  const refused = { status: 400, body: { errors: [{ message: /\(1:1\)/, source: { pointer: '/expression' } }] } }
  t.match(await api.call('POST', `${path}/rules`, { ...bad, action: 'log' }), refused)
  t.match(await api.call('POST', `${path}/rules?dry_run=true`, { ...bad, action: 'log' }), refused)
  t.match(await api.call('PATCH', `${path}/rules/${rules[0]?.id}`, bad), refused)
})

t.test('an error shows only a part of a long expression', async (t) => {
  const { call } = await client(t, { config })
  const { body } = await call('PUT', path(FIREWALL), {
    rules: [{ action: 'log', expression: `ssl ${'and ssl '.repeat(400)}\nand x` }],
  })
  t.ok(body.errors[0].message.length < 500)
  t.match(body.errors[0].message, /…' is not a valid value for expression .*\(2:5\):\nand x\n {4}\^/s)
})

const ACCEPTED: [phase: PhaseName, rule: object][] = [
  [FIREWALL, { expression: 'ip.src in $office and http.host in $shops and ip.src.asnum in $clouds' }],
  ['http_ratelimit', counted({ characteristics: ['cf.colo.id', 'http.request.headers["x-key"]', 'ip.src.country'] })],
  ['http_ratelimit', counted({ counting_expression: 'http.response.code eq 404' })],
  ['http_ratelimit', counted({ characteristics: ['lookup_json_string(http.request.body.raw, "a")'] })],
  ['http_request_transform', rewritten('regex_replace(http.request.uri.path, "^/a/", "/b/")')],
  ['http_request_transform', rewritten('to_string(ip.src)')],
  [
    'http_request_redirect',
    {
      expression: 'http.request.full_uri in $moved and any(http.request.accepted_languages[*] == "de")',
      action: 'redirect',
      action_parameters: { from_list: { name: 'moved', key: 'http.request.full_uri' } },
    },
  ],
]

t.test('expressions of every use are accepted', async (t) => {
  const { call } = await client(t, { config })
  for (const [phase, rule] of ACCEPTED) {
    const { status, body } = await call('PUT', path(phase), {
      rules: [{ expression: 'true', action: 'block', ...rule }],
    })
    t.equal(status, 200, JSON.stringify([rule, body.errors]))
  }
})

t.test('probable mistakes are in the messages of writes and of dry runs', async (t) => {
  const api = await client(t, { config })
  const rules = [
    { action: 'log', expression: 'http.request.method eq "get"' },
    { action: 'block', expression: 'true', enabled: false },
    { action: 'block', expression: 'ssl or true' },
    { action: 'log', expression: 'ssl' },
  ]
  const expected = [
    { code: 20100, message: /upper case/, source: { pointer: '/rules/0/expression' } },
    { message: /never reached: rule 3 matches every request/, source: { pointer: '/rules/3/expression' } },
  ]
  for (const query of ['?dry_run=true', '']) {
    const { status, body } = await api.call('PUT', `${path(FIREWALL)}${query}`, { rules })
    t.equal(status, 200)
    t.equal(body.result === null, query !== '')
    t.match(body.messages, expected)
  }
  const created = await api.call('POST', AT, { name: 'n', kind: 'custom', phase: FIREWALL, rules })
  t.match(created.body.messages, expected)
  const at = `${AT}/${created.body.result.id}`
  t.match((await api.call('PUT', at, { rules })).body.messages, expected)
  t.same((await api.call('PUT', at, { description: 'd' })).body.messages, [], 'rules that stay are not talked of')

  const doubtful = { action: 'log', expression: 'http.request.headers["Accept"][0] eq "a"' }
  const added = await api.call('POST', `${at}/rules?dry_run=true`, { ...doubtful, position: { index: 1 } })
  t.match(added.body.messages, [{ message: /lower case/, source: { pointer: '/expression' } }])
  t.equal(added.body.messages.length, 1)
  const id = created.body.result.rules[3].id
  const moved = await api.call('PATCH', `${at}/rules/${id}`, { position: { index: 1 } })
  t.same(moved.body.messages, [])
})

const LIMIT = { characteristics: ['ip.src', 'cf.colo.id'], period: 60, requests_per_period: 10 }
const CREDENTIALS = { username_expression: 'http.host', password_expression: 'http.host' }
const ERROR = { content: 'no', content_type: 'text/plain' }

/** Rules with members that have no effect here, and their pointers. */
const INERT: [phase: PhaseName, rule: object, ...pointers: string[]][] = [
  [
    'http_config_settings',
    { action: 'set_config', action_parameters: { bic: true, ssl: 'full', security_level: 'high' } },
    '/action_parameters/bic',
    '/action_parameters/security_level',
  ],
  ['http_config_settings', { action: 'set_config', action_parameters: { security_level: 'off' } }],
  [
    'http_request_cache_settings',
    {
      action: 'set_cache_settings',
      action_parameters: {
        cache: true,
        cache_reserve: { eligible: true },
        respect_strong_etags: true,
        shared_dictionary: { match_pattern: '/*' },
      },
    },
    '/action_parameters/shared_dictionary',
  ],
  [FIREWALL, { action: 'skip', action_parameters: { products: ['waf', 'bic'] } }, '/action_parameters/products/1'],
  [FIREWALL, { action: 'ddos_dynamic' }, '/action'],
  ['magic_transit', { action: 'block' }, '/action'],
  [FIREWALL, { action: 'log', exposed_credential_check: CREDENTIALS }, '/exposed_credential_check'],
  [
    'http_response_firewall_managed',
    { action: 'log', ratelimit: LIMIT, exposed_credential_check: CREDENTIALS },
    '/ratelimit',
    '/exposed_credential_check',
  ],
  [
    'http_request_transform',
    { action: 'rewrite', action_parameters: { uri: { path: { value: '/' } } }, ratelimit: LIMIT },
    '/ratelimit',
  ],
  ['http_custom_errors', { action: 'serve_error', action_parameters: ERROR, ratelimit: LIMIT }, '/ratelimit'],
  ['http_ratelimit', { action: 'block', ratelimit: LIMIT }],
  [FIREWALL, { action: 'score' }, '/action'],
  [FIREWALL, { action: 'score', action_parameters: {} }, '/action_parameters'],
  [FIREWALL, { action: 'score', action_parameters: { increment: 0 } }],
  [FIREWALL, { action: 'transform_response_html' }, '/action'],
  [
    FIREWALL,
    { action: 'transform_response_html', action_parameters: { link_maze: {} } },
    '/action_parameters/link_maze',
  ],
  ['http_response_compression', { action: 'compress_response' }],
]

t.test('what is stored without effect is named in messages of the write', async (t) => {
  const { call } = await client(t, { config })
  for (const [phase, rule, ...pointers] of INERT) {
    const { status, body } = await call('PUT', path(phase), { rules: [{ expression: 'true', ...rule }] })
    const found = body.messages.map((message: { code: number; source: { pointer: string } }) => [
      message.code,
      message.source.pointer,
    ])
    t.equal(status, 200, JSON.stringify(body.errors))
    t.same(
      found,
      pointers.map((pointer) => [10900, `/rules/0${pointer}`]),
      JSON.stringify(rule),
    )
  }
})

t.test('hints stop at a hundred', async (t) => {
  const { call } = await client(t, { config })
  const rules = Array.from({ length: 500 }, () => ({ action: 'log', expression: 'http.request.method eq "get"' }))
  const { body } = await call('PUT', path(FIREWALL), { rules })
  t.equal(body.messages.length, 100)
})

const pause = async (): Promise<void> => {}

t.test('rules that are stored and no longer parse have no hints', async (t) => {
  const rule = { action: 'log', expression: 'no.such.field', enabled: true } as Rule
  t.same(await rulesHints([rule], undefined, pause), [])
})

t.test('a thousand rules are checked in one go', async (t) => {
  const rules = Array.from({ length: 1000 }, (_, at) => ({
    action: 'block',
    expression: `(http.host eq "host${at}.example.com" and starts_with(http.request.uri.path, "/a${at}/")) or ip.src in {192.0.2.${at % 256} 198.51.100.0/24} or any(http.request.headers["x-a"][*] contains "b${at}")`,
  }))
  const context = { phase: phaseNamed(FIREWALL)!, kind: 'zone', level: 'zone', target: () => undefined } as const
  const started = performance.now()
  t.same(await rulesIssues(rules, { ...context, list: () => undefined }, pause), [])
  const checked = performance.now()
  const stored = rules.map((rule) => ({ ...rule, enabled: true }) as unknown as Rule)
  t.same(await rulesHints(stored, undefined, pause), [])
  t.comment(`${Math.round(checked - started)} ms to check, ${Math.round(performance.now() - checked)} ms for hints`)
})
