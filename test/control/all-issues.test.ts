import t from 'tap'
import { ACCOUNT, client, FREE_ZONE, ZONE } from './client.js'
import { logpushClient } from './logpush/helper.js'
import { postureClient } from './webhooks/helper.js'

const POSTURE = `/accounts/${ACCOUNT}/data-security/posture`

const RULES = [
  { action: 'blok', expression: 'http.hos eq "x"' },
  {
    action: 'block',
    expression: 'http.hos eq "x"',
    foo: 1,
    action_parameters: { response: { status_code: 99, content: 'x', content_type: 'text/plain' } },
  },
  { action: 'log', expression: '(', enabled: 'yes' },
]
const IN_RULES = ['/action', '/expression']
  .map((at) => `/rules/0${at}`)
  .concat(
    ['/action_parameters/response/status_code', '/expression', '/foo'].map((at) => `/rules/1${at}`),
    ['/enabled', '/expression'].map((at) => `/rules/2${at}`),
  )

/** Bodies with issues that the schema finds and issues that other checks find; all are reported. */
const BODIES: [what: string, method: string, path: string, body: object, pointers: string[]][] = [
  [
    'a ruleset with wrong members and wrong rules',
    'POST',
    `/zones/${ZONE}/rulesets`,
    { nam: 'x', kind: 'zone', phase: 'http_request_firewall_custom', rules: RULES },
    ['/nam', '/name', ...IN_RULES],
  ],
  [
    'a ruleset of an unknown phase',
    'POST',
    `/zones/${ZONE}/rulesets`,
    { name: 'x', kind: 'zone', phase: 'http_request_firewal', rules: RULES },
    [
      '/phase',
      ...['/action', '/expression'].map((at) => `/rules/0${at}`),
      '/rules/1/expression',
      '/rules/1/foo',
    ].concat(['/enabled', '/expression'].map((at) => `/rules/2${at}`)),
  ],
  [
    'a ruleset of a kind that its phase does not have',
    'POST',
    `/zones/${ZONE}/rulesets`,
    { name: 'x', kind: 'root', phase: 'http_request_firewall_custom', rules: [{ action: 'log', expression: '(' }] },
    ['/kind', '/rules/0/expression'],
  ],
  [
    'an entry point',
    'PUT',
    `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`,
    { zz: 1, kind: 'root', rules: RULES },
    ['/kind', '/zz', ...IN_RULES],
  ],
  [
    'rules of one ref with another issue',
    'PUT',
    `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`,
    { rules: ['(', 'true'].map((expression) => ({ action: 'log', ref: 'a', id: '0'.repeat(32), expression })) },
    ['/rules/0/expression', '/rules/1/id', '/rules/1/ref'],
  ],
  [
    'a query and a body',
    'POST',
    `/zones/${ZONE}/rulesets?dry_run=perhaps&dry_run=true&nope=1`,
    { name: '', kind: 'zone', phase: 'http_request_firewall_custom' },
    ['/dry_run', '/dry_run', '/name', '/nope'],
  ],
  [
    'a setting of a zone',
    'PATCH',
    `/zones/${ZONE}/settings/content_converter`,
    { value: 'x', zz: 1 },
    ['/value', '/zz'],
  ],
  [
    'settings of a zone in items that do not fit',
    'PATCH',
    `/zones/${ZONE}/settings`,
    { items: [{ id: 'content_converter', value: 'x', zz: 1 }, 5, { id: 'nope', value: 1 }, { id: 5, value: 1 }] },
    ['/items/0/value', '/items/0/zz', '/items/1', '/items/2/id', '/items/3/id'],
  ],
  [
    'a webhook to a private address',
    'POST',
    `${POSTURE}/webhooks`,
    {
      label: 'x',
      destination_url: 'https://127.0.0.1/',
      authentication_type: 'Static Headers',
      headers: ['A', 'a'].map((key) => ({ key, value: 'x' })),
    },
    ['/destination_url', '/headers/1/key'],
  ],
  [
    'a webhook',
    'POST',
    `${POSTURE}/webhooks`,
    {
      label: '',
      zz: 1,
      destination_url: 'http://example.com/',
      authentication_type: 'Basic Auth',
      headers: [{ key: 'Authorization', value: 'x' }],
    },
    ['/destination_url', '/headers/0/value', '/label', '/zz'],
  ],
  [
    'a webhook whose headers do not fit',
    'POST',
    `${POSTURE}/webhooks`,
    { label: 'x', destination_url: 'http://example.com/', authentication_type: 'Basic Auth', headers: 1 },
    ['/destination_url', '/headers'],
  ],
  [
    'a policy',
    'POST',
    `${POSTURE}/policies`,
    { display_name: 1, enabled: true, applies_to_all_integrations: false, actions: {} },
    ['/actions', '/display_name', '/finding_type_id', '/integration_ids'],
  ],
  [
    'a custom hostname',
    'POST',
    `/zones/${ZONE}/custom_hostnames`,
    { hostname: 'a b', custom_origin_server: 'x y', ssl: { method: 'zz' } },
    ['/custom_origin_server', '/hostname', '/ssl/method'],
  ],
  [
    'settings of a zone',
    'PATCH',
    `/zones/${FREE_ZONE}/settings`,
    {
      items: [
        { id: 'content_converter', value: 'x' },
        { id: 'nope', value: 1 },
        { id: 'content_converter', value: 'on' },
      ],
    },
    ['/items/0/value', '/items/0/value', '/items/1/id', '/items/2/id', '/items/2/value'],
  ],
  ['a list', 'POST', `/accounts/${ACCOUNT}/rules/lists`, { name: 'AB', kind: 'ip', q: 1 }, ['/name', '/q']],
  [
    'a token',
    'POST',
    '/user/tokens',
    {
      name: '',
      expires_on: '2001-01-01T00:00:00Z',
      policies: [{ effect: 'allow', permission_groups: [{ name: 'Nothing' }], resources: { x: '*' } }],
    },
    ['/expires_on', '/name', '/policies/0/permission_groups/0', '/policies/0/resources/x'],
  ],
]

for (const [what, method, path, body, pointers] of BODIES) {
  t.test(`${what}: all issues are reported together`, async (t) => {
    const { call } = await (path.startsWith(POSTURE) ? postureClient(t) : client(t))
    const { status, body: envelope } = await call(method, path, body)
    t.equal(status, 400)
    t.same(envelope.errors.map(({ source }: { source: { pointer: string } }) => source.pointer).sort(), pointers.sort())
  })
}

t.test('a log push job: all issues are reported together', async (t) => {
  const { call } = await logpushClient(t)
  const { status, body } = await call('POST', `/zones/${ZONE}/logpush/jobs`, {
    destination_conf: 'https://logs.example.com/x',
    dataset: 'http_requests',
    nam: 1,
    filter: '{"where":{"key":"Nope","operator":"eq","value":1}}',
    max_upload_records: 5,
    output_options: { field_names: ['Nope'], sample_rate: 3 },
  })
  t.equal(status, 400)
  t.same(body.errors.map(({ source }: { source: { pointer: string } }) => source.pointer).sort(), [
    '/filter/where/key',
    '/max_upload_records',
    '/nam',
    '/output_options/field_names/0',
    '/output_options/sample_rate',
  ])
})

t.test('a log push job with another scheme: its destination is reported together with the rest', async (t) => {
  const { call } = await logpushClient(t)
  const { status, body } = await call('POST', `/zones/${ZONE}/logpush/jobs`, {
    destination_conf: 'nowhere://x',
    dataset: 'http_requests',
    output_options: { field_names: ['Nope'] },
  })
  t.equal(status, 400)
  t.same(body.errors.map(({ source }: { source: { pointer: string } }) => source.pointer).sort(), [
    '/destination_conf',
    '/output_options/field_names/0',
  ])
})
