import t from 'tap'
import { RULESETS } from '../../../src/core/model/ruleset.js'
import { kindsOf, phaseNamed } from '../../../src/rules/phases.js'
import { BAD_RULES } from './bad-rules/index.js'
import { ACCOUNT, client, FREE_ZONE, ZONE, type TestResponse, type Client } from '../client.js'

const pointers = ({ body }: TestResponse): string[] =>
  body.errors.map(({ source }: { source?: { pointer: string } }) => source?.pointer ?? '').sort()

const stored = ({ store }: Client) => [...store.records()].length

const home = (phase: string) => {
  const atZone = kindsOf(phaseNamed(phase)!, 'zone').length > 0
  return atZone
    ? { path: `/zones/${ZONE}/rulesets`, kind: 'zone' }
    : { path: `/accounts/${ACCOUNT}/rulesets`, kind: 'root' }
}

t.test('invalid rules are refused with a pointer to each error, and nothing is stored', async (t) => {
  const api = await client(t)
  t.ok(BAD_RULES.length > 300)
  for (const [what, phase, rule, ...faults] of BAD_RULES) {
    const { path, kind } = home(phase)
    const body = { name: 'n', kind, phase, rules: [{ expression: 'true', action: 'log', ...rule }] }
    const response = await api.call('POST', path, body)
    t.equal(response.status, 400, what)
    t.same(pointers(response), faults.map((pointer) => `/rules/0${pointer}`).sort(), what)
    t.same([...new Set(response.body.errors.map(({ code }: { code: number }) => code))], [20005], what)
  }
  t.equal(stored(api), 0)
})

t.test('the same rules are refused when they are added to a ruleset, with pointers to the rule itself', async (t) => {
  const api = await client(t)
  const made = new Map<string, string>()
  for (const [what, phase, rule, ...faults] of BAD_RULES) {
    if (what === 'a position') continue
    const { path, kind } = home(phase)
    if (!made.has(phase)) {
      const { body } = await api.call('POST', path, { name: 'n', kind, phase })
      made.set(phase, body.result.id)
    }
    const response = await api.call('POST', `${path}/${made.get(phase)}/rules`, {
      expression: 'true',
      action: 'log',
      ...rule,
    })
    t.equal(response.status, 400, what)
    t.same(pointers(response), [...faults].sort(), what)
  }
  for (const { value } of api.store.list(RULESETS)) t.match(value.ruleset, { version: '1', rules: [] })
})

t.test('errors of several rules are reported together, at most a hundred', async (t) => {
  const api = await client(t)
  const path = `/zones/${ZONE}/rulesets/phases/http_config_settings/entrypoint`
  const good = { expression: 'true', action: 'set_config', action_parameters: { bic: true } }
  const two = await api.call('PUT', path, { rules: [{ ...good, enabled: 1 }, good, { ...good, expression: '' }] })
  t.same(pointers(two), ['/rules/0/enabled', '/rules/2/expression'])
  const many = await api.call('PUT', path, { rules: Array.from({ length: 1000 }, () => ({})) })
  t.equal(many.body.errors.length, 100)
  t.equal(stored(api), 0)
})

const REFUSED_RULESETS: [what: string, body: unknown, ...pointers: string[]][] = [
  ['nothing at all', {}, '/kind', '/name', '/phase'],
  ['a list', [], ''],
  ['no name', { name: undefined }, '/name'],
  ['an empty name', { name: '' }, '/name'],
  ['a name that is a number', { name: 1 }, '/name'],
  ['no kind', { kind: undefined }, '/kind'],
  ['an unknown kind', { kind: 'user' }, '/kind'],
  ['the kind of accounts', { kind: 'root' }, '/kind'],
  ['a kind that the phase has not', { kind: 'custom', phase: 'http_config_settings' }, '/kind'],
  ['no phase', { phase: undefined }, '/phase'],
  ['an unknown phase', { phase: 'http_request_select_configuration' }, '/phase'],
  ['a phase of accounts', { phase: 'http_request_redirect' }, '/phase'],
  ['a description that is null', { description: null }, '/description'],
  ['rules that are no list', { rules: {} }, '/rules'],
  ['a rule that is a text', { rules: ['x'] }, '/rules/0'],
  ['a rule that is null', { rules: [null] }, '/rules/0'],
  ['a rule that is a list', { rules: [[]] }, '/rules/0'],
  ['an unknown member', { source: 'x' }, '/source'],
  ['an id', { id: 'a'.repeat(32) }, '/id'],
]

t.test('bad rulesets are refused, and nothing is stored', async (t) => {
  const api = await client(t)
  const good = { name: 'n', kind: 'zone', phase: 'http_request_firewall_custom' }
  for (const [what, body, ...faults] of REFUSED_RULESETS) {
    const whole = Array.isArray(body) || Object.keys(body as object).length === 0
    const response = await api.call('POST', `/zones/${ZONE}/rulesets`, whole ? body : { ...good, ...(body as object) })
    t.match(response, { status: 400, body: { errors: [{ code: 20005 }] } }, what)
    t.same(pointers(response), faults, what)
  }
  t.equal(stored(api), 0)
  t.match(await api.call('POST', `/accounts/${ACCOUNT}/rulesets`, good), {
    status: 400,
    body: { errors: [{ code: 20005, source: { pointer: '/kind' }, message: /root, custom, managed/ }] },
  })
})

t.test('ids and refs are used once in a ruleset', async (t) => {
  const api = await client(t)
  const rule = { expression: 'true', action: 'log' }
  const id = 'a'.repeat(32)
  const post = async (rules: object[]) =>
    await api.call('POST', `/zones/${ZONE}/rulesets`, {
      name: 'n',
      kind: 'zone',
      phase: 'http_request_firewall_custom',
      rules,
    })
  t.same(pointers(await post([{ ...rule, id }, rule, { ...rule, id }])), ['/rules/2/id'])
  t.same(
    pointers(
      await post([
        { ...rule, ref: 'a' },
        { ...rule, ref: 'a' },
        { ...rule, ref: 'a' },
      ]),
    ),
    ['/rules/1/ref', '/rules/2/ref'],
  )
  const { body } = await post([{ ...rule, ref: 'a' }, rule])
  const [first, second] = body.result.rules
  const path = `/zones/${ZONE}/rulesets/${body.result.id}/rules`
  t.same(pointers(await api.call('POST', path, { ...rule, ref: 'a' })), ['/ref'])
  t.same(pointers(await api.call('POST', path, { ...rule, id: first.id })), ['/id'])
  t.same(pointers(await api.call('PATCH', `${path}/${second.id}`, { ref: 'a' })), ['/ref'])
  t.same(pointers(await api.call('PATCH', `${path}/${second.id}`, { id: first.id })), ['/id'])
  t.equal((await api.call('GET', `/zones/${ZONE}/rulesets/${body.result.id}`)).body.result.version, '1')
})

t.test('a rule with more values than any real one is refused before it is read further', async (t) => {
  const { call } = await client(t)
  const ports = Array.from({ length: 30_000 }, () => 'x')
  const rule = {
    expression: 'true',
    action: 'set_cache_settings',
    action_parameters: { additional_cacheable_ports: ports },
  }
  const response = await call('POST', `/zones/${ZONE}/rulesets`, {
    name: 'n',
    kind: 'zone',
    phase: 'http_request_cache_settings',
    rules: [rule],
  })
  t.match(response, { status: 400, body: { errors: [{ source: { pointer: '/rules/0' }, message: /20000 values/ }] } })
})

t.test('a free zone has no Markdown conversion by rule either, unless it has custom hostnames', async (t) => {
  const { call } = await client(t)
  const rules = [{ expression: 'true', action: 'set_config', action_parameters: { content_converter: true } }]
  const refused = await call('PUT', `/zones/${FREE_ZONE}/rulesets/phases/http_config_settings/entrypoint`, { rules })
  t.match(refused, {
    status: 400,
    body: { errors: [{ code: 1015, source: { pointer: '/rules/0/action_parameters/content_converter' } }] },
  })
  t.equal((await call('POST', `/zones/${FREE_ZONE}/custom_hostnames`, { hostname: 'app.shop.com' })).status, 200)
  const free = `/zones/${FREE_ZONE}/rulesets/phases/http_config_settings/entrypoint`
  t.equal((await call('PUT', free, { rules })).status, 200)
  t.equal((await call('PUT', `/zones/${ZONE}/rulesets/phases/http_config_settings/entrypoint`, { rules })).status, 200)
})

t.test('quotas are enforced, and errors name the limit', async (t) => {
  const config = (await client(t)).deps.config()
  const control = {
    ...config.control,
    quotas: { ...config.control.quotas, rulesets_per_scope: 2, rules_per_ruleset: 2 },
  }
  const { call } = await client(t, { config: { control } })
  const rule = { expression: 'true', action: 'log' }
  const custom = { name: 'n', kind: 'custom', phase: 'http_request_firewall_custom' }
  t.match(await call('POST', `/zones/${ZONE}/rulesets`, { ...custom, rules: [rule, rule, rule] }), {
    status: 400,
    body: { errors: [{ code: 20010, source: { pointer: '/rules' }, message: /3 rules; 2 are allowed/ }] },
  })
  const { body } = await call('POST', `/zones/${ZONE}/rulesets`, { ...custom, rules: [rule, rule] })
  t.match(await call('POST', `/zones/${ZONE}/rulesets/${body.result.id}/rules`, rule), {
    status: 400,
    body: { errors: [{ code: 20010 }] },
  })
  await call('POST', `/zones/${ZONE}/rulesets`, custom)
  t.match(await call('POST', `/zones/${ZONE}/rulesets`, custom), { status: 403, body: { errors: [{ code: 20009 }] } })
  t.match(await call('PUT', `/zones/${ZONE}/rulesets/phases/http_config_settings/entrypoint`, {}), { status: 403 })
  t.equal(
    (await call('POST', `/accounts/${ACCOUNT}/rulesets`, custom)).status,
    200,
    'each account and zone has its own',
  )
})

t.test('what is not there is 404, each with its code', async (t) => {
  const { call } = await client(t)
  const { body } = await call('POST', `/zones/${ZONE}/rulesets`, { name: 'n', kind: 'custom', phase: 'http_ratelimit' })
  const at = `/zones/${ZONE}/rulesets`
  const { id } = body.result
  const none = 'f'.repeat(32)
  const CASES: [method: string, path: string, code: number][] = [
    ['GET', `${at}/${none}`, 20001],
    ['GET', `${at}/nonsense`, 20001],
    ['GET', `/accounts/${ACCOUNT}/rulesets/${id}`, 20001],
    ['PUT', `${at}/${none}`, 20001],
    ['DELETE', `${at}/${none}`, 20001],
    ['POST', `${at}/${none}/rules`, 20001],
    ['PATCH', `${at}/${id}/rules/${none}`, 20002],
    ['DELETE', `${at}/${id}/rules/${none}`, 20002],
    ['GET', `${at}/${none}/versions`, 20001],
    ['GET', `${at}/${id}/versions/2`, 20003],
    ['GET', `${at}/${id}/versions/x`, 20003],
    ['DELETE', `${at}/${id}/versions/7`, 20003],
    ['GET', `${at}/phases/http_ratelimit/entrypoint`, 10003],
    ['GET', `${at}/phases/http_request_redirect/entrypoint`, 10003],
    ['GET', `${at}/phases/http_ratelimit/entrypoint/versions`, 10003],
    ['GET', `${at}/phases/http_ratelimit/entrypoint/versions/1`, 10003],
    ['GET', `${at}/phases/nonsense/entrypoint`, 20004],
    ['PUT', `${at}/phases/nonsense/entrypoint`, 20004],
  ]
  for (const [method, path, code] of CASES) {
    const sent = method === 'GET' || method === 'DELETE' ? undefined : {}
    t.match(await call(method, path, sent), { status: 404, body: { errors: [{ code }] } }, `${method} ${path}`)
  }
  const reported = await call('GET', `${at}/phases/http_ratelimit/entrypoint`)
  t.equal(
    reported.body.errors[0].message,
    'could not find entrypoint ruleset in the http_ratelimit phase at the zone level',
  )
})
