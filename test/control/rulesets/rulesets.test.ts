import t from 'tap'
import type { Rule } from '../../../src/core/model/ruleset.js'
import { ACTIONS } from '../../../src/rules/actions/index.js'
import { kindsOf, phaseNamed } from '../../../src/rules/phases.js'
import { ACCOUNT, client, CONFIG, OTHER_ZONE, ZONE, type Client } from '../client.js'
import { AT, custom, LOG, names } from './helper.js'

/** The request that the public API's manual shows. */
const SAMPLE = {
  name: 'My ruleset',
  kind: 'root',
  phase: 'http_request_firewall_custom',
  description: 'My ruleset to execute managed rulesets',
  rules: [
    {
      id: '3a03d665bac047339bb530ecb439a90d',
      action: 'block',
      action_parameters: {
        response: {
          content: '{"success":false,"error":"you have been blocked"}',
          content_type: 'application/json',
          status_code: 400,
        },
      },
      description: 'Block when the IP address is not 1.1.1.1',
      enabled: true,
      exposed_credential_check: {
        password_expression: 'url_decode(http.request.body.form["password"][0])',
        username_expression: 'url_decode(http.request.body.form["username"][0])',
      },
      expression: 'ip.src ne 1.1.1.1',
      logging: { enabled: true },
      ratelimit: {
        characteristics: ['cf.colo.id'],
        period: 60,
        counting_expression: 'http.request.body.raw eq "abcd"',
        mitigation_timeout: 600,
        requests_per_period: 1000,
        requests_to_origin: true,
        score_per_period: 400,
        score_response_header_name: 'my-score',
      },
      ref: 'my_ref',
    },
  ],
}

t.test('the sample of the manual is accepted unchanged', async (t) => {
  const { call } = await client(t)
  const made = await call('POST', `/accounts/${ACCOUNT}/rulesets`, SAMPLE)
  const { id: _id, ...rule } = SAMPLE.rules[0]!
  t.match(made, {
    status: 200,
    body: { success: true, result: { ...SAMPLE, version: '1', rules: [{ ...rule, version: '1' }] } },
  })
  const { id } = made.body.result
  t.same((await call('GET', `/accounts/${ACCOUNT}/rulesets/${id}`)).body.result, made.body.result)
})

const ids = (rules: readonly { id: string }[]): string[] => rules.map(({ id }) => id)

const records = ({ store }: Client): string =>
  [...store.records()]
    .map(({ kind, id, version }) => `${kind} ${id} ${version}`)
    .sort()
    .join('\n')

t.test('every action is accepted with every example of its parameters, and reads back as it was sent', async (t) => {
  const { call } = await client(t)
  for (const { name, examples } of ACTIONS.values()) {
    if (name === 'execute') continue
    for (const { phase, params } of examples) {
      const level = kindsOf(phaseNamed(phase)!, 'zone').length > 0 ? `zones/${ZONE}` : `accounts/${ACCOUNT}`
      const ratelimit = phaseNamed(phase)?.ratelimit === 'required' && {
        ratelimit: { characteristics: ['ip.src'], period: 10, requests_per_period: 1 },
      }
      const rule = { expression: 'true', action: name, action_parameters: params, ...ratelimit }
      const response = await call('PUT', `/${level}/rulesets/phases/${phase}/entrypoint`, { rules: [rule] })
      t.match(response, { status: 200 }, `${name} in ${phase}: ${JSON.stringify(response.body.errors)}`)
      t.same(response.body.result.rules[0].action_parameters, params)
    }
  }
})

t.test('what is not sent has its default; times have six digits', async (t) => {
  const { call } = await client(t)
  const ratelimit = { characteristics: ['ip.src'], period: 10, requests_per_period: 5, counting_expression: '' }
  const rules = [{ expression: 'true', action: 'block', ratelimit }]
  const { body } = await call('PUT', `${AT}/phases/http_ratelimit/entrypoint`, { rules })
  const { id, rules: made, ...rest } = body.result
  const last_updated = '2026-11-21T12:00:00.000000Z'
  t.match(id, /^[0-9a-f]{32}$/)
  t.same(rest, { name: 'default', description: '', kind: 'zone', version: '1', last_updated, phase: 'http_ratelimit' })
  const [rule] = made
  t.match(rule.id, /^[0-9a-f]{32}$/)
  t.same(rule, {
    id: rule.id,
    version: '1',
    last_updated,
    ref: rule.id,
    action: 'block',
    expression: 'true',
    description: '',
    enabled: true,
    ratelimit: { ...ratelimit, mitigation_timeout: 0, requests_to_origin: false },
  })
})

t.test('rulesets are listed without rules, page by page', async (t) => {
  const api = await client(t)
  const made = new Set<string>()
  for (let index = 0; index < 7; index++) made.add((await custom(api, 'a')).id)
  const whole = await api.call('GET', AT)
  t.match(whole.body, { result: [{ kind: 'custom', version: '1' }], result_info: { count: 7, per_page: 50 } })
  t.notOk('rules' in whole.body.result[0])
  t.notOk('cursor' in whole.body.result_info)

  const seen: string[] = []
  let cursor: string | undefined
  let pages = 0
  do {
    const { body } = await api.call('GET', `${AT}?per_page=3${cursor ? `&cursor=${cursor}` : ''}`)
    seen.push(...ids(body.result))
    cursor = body.result_info.cursor
    t.equal(body.result_info.cursors?.after, cursor)
    pages++
  } while (cursor)
  t.equal(pages, 3)
  t.same(new Set(seen), made)
  t.equal(seen.length, 7)

  for (const [query, pointer] of [
    ['cursor=nonsense', '/cursor'],
    ['per_page=0', '/per_page'],
    ['per_page=1001', '/per_page'],
    ['per_page=x', '/per_page'],
  ])
    t.match(await api.call('GET', `${AT}?${query}`), {
      status: 400,
      body: { errors: [{ code: 10002, source: { pointer } }] },
    })
})

t.test('a put keeps the rules that it names, in the order that it gives', async (t) => {
  const api = await client(t)
  const { path, rules } = await custom(api, 'a', 'b', 'c')
  const [a, b, c] = rules as [Rule, Rule, Rule]
  api.clock.advance(1500)
  const sent = [
    { ...c, description: 'c2' },
    { ...LOG, description: 'new' },
    { ...LOG, ref: a.ref, description: 'a' },
  ]
  const { status, body } = await api.call('PUT', path, { description: 'd', rules: sent })
  t.equal(status, 200)
  const [c2, fresh, a2] = body.result.rules
  t.match(body.result, { version: '2', description: 'd', last_updated: '2026-11-21T12:00:01.500000Z' })
  t.match(c2, { id: c.id, version: '2', description: 'c2', last_updated: '2026-11-21T12:00:01.500000Z' })
  t.same(a2, a, 'known by its ref, and unchanged: the same version and time')
  t.match(fresh, { version: '1', description: 'new' })
  t.notOk([a.id, b.id, c.id].includes(fresh.id))
})

t.test('a put of what a get gave changes nothing but the version of the ruleset', async (t) => {
  const api = await client(t)
  const { path } = await custom(api, 'a', 'b')
  const before = (await api.call('GET', path)).body.result
  const after = (await api.call('PUT', path, before)).body.result
  t.same(after, { ...before, version: '2' })
})

t.test('a put without rules keeps them; an empty list takes them away', async (t) => {
  const api = await client(t)
  const { path } = await custom(api, 'a', 'b')
  const kept = (await api.call('PUT', path, { description: 'x' })).body.result
  t.same([kept.description, names(kept.rules)], ['x', ['a', 'b']])
  const emptied = (await api.call('PUT', path, { rules: [] })).body.result
  t.same([emptied.description, emptied.rules, emptied.version], ['x', [], '3'])
})

t.test('a rule without id and ref is a new rule, and its ref is its id', async (t) => {
  const api = await client(t)
  const { path, rules } = await custom(api, 'a')
  const { body } = await api.call('PUT', path, { rules: [{ ...LOG, description: 'a' }] })
  const [rule] = body.result.rules
  t.not(rule.id, rules[0]?.id)
  t.equal(rule.ref, rule.id)
  t.equal(rule.version, '1')
})

t.test('a given id that the ruleset does not know makes a new rule with an id of its own', async (t) => {
  const api = await client(t)
  const { path } = await custom(api)
  const id = 'e'.repeat(32)
  const { body } = await api.call('PUT', path, { rules: [{ ...LOG, id }] })
  t.not(body.result.rules[0].id, id)
})

t.test('name, kind, phase and id cannot change; the same values are accepted', async (t) => {
  const api = await client(t)
  const { path, id } = await custom(api, 'a')
  const same = { id, name: 'n', kind: 'custom', phase: 'http_request_firewall_custom' }
  t.equal((await api.call('PUT', path, same)).status, 200)
  const others = { id: 'f'.repeat(32), name: 'm', kind: 'managed', phase: 'http_ratelimit' }
  for (const [member, value] of Object.entries(others))
    t.match(await api.call('PUT', path, { ...same, [member]: value }), {
      status: 400,
      body: { errors: [{ code: 20005, source: { pointer: `/${member}` }, message: /cannot be changed/ }] },
    })
  t.equal((await api.call('GET', path)).body.result.version, '2')
})

t.test('a rule is changed by the members that are sent', async (t) => {
  const api = await client(t)
  const { path, rules } = await custom(api, 'a', 'b', 'c')
  const id = rules[1]!.id
  const patch = async (body: object) => (await api.call('PATCH', `${path}/rules/${id}`, body)).body
  api.clock.advance(1000)
  const first = (await patch({ enabled: false })).result
  t.equal(first.version, '2')
  t.same([first.rules[0], first.rules[2]], [rules[0], rules[2]])
  t.match(first.rules[1], { id, version: '2', enabled: false, description: 'b' })
  t.equal(first.rules[1].last_updated, '2026-11-21T12:00:01.000000Z')
  const again = (await patch({ enabled: false })).result
  t.same([again.version, again.rules[1]], ['2', first.rules[1]], 'a patch that changes nothing makes no version')

  const block = { response: { status_code: 418, content_type: 'text/plain', content: 'tea' } }
  const blocking = (await patch({ action: 'block', action_parameters: block })).result.rules[1]
  t.match(blocking, { version: '3', action: 'block', action_parameters: block })
  const challenging = (await patch({ action: 'challenge' })).result.rules[1]
  t.notOk('action_parameters' in challenging, 'parameters go with the action that they belong to')
  t.match(await patch({ action_parameters: { response: {} } }), {
    errors: [{ source: { pointer: '/action_parameters/response' } }],
  })
  const renamed = (await patch({ id, version: '1', last_updated: 'x', ref: 'mine' })).result.rules[1]
  t.match(renamed, { ref: 'mine', version: '5', id })
  t.match(await patch({ nope: 1 }), { errors: [{ source: { pointer: '/nope' } }] })
})

const POSITIONS: [what: string, position: (rules: readonly Rule[]) => object, added: string, moved: string][] = [
  ['none', () => ({}), 'abcdN', 'abcd'],
  ['index 1', () => ({ position: { index: 1 } }), 'Nabcd', 'bacd'],
  ['index 4', () => ({ position: { index: 4 } }), 'abcNd', 'acdb'],
  ['before nothing', () => ({ position: { before: '' } }), 'Nabcd', 'bacd'],
  ['after nothing', () => ({ position: { after: '' } }), 'abcdN', 'acdb'],
  ['before c', ([, , c]) => ({ position: { before: c?.id } }), 'abNcd', 'abcd'],
  ['after d', ([, , , d]) => ({ position: { after: d?.id } }), 'abcdN', 'acdb'],
  ['after a', ([a]) => ({ position: { after: a?.id } }), 'aNbcd', 'abcd'],
  ['before a', ([a]) => ({ position: { before: a?.id } }), 'Nabcd', 'bacd'],
]

t.test('a rule is added and moved to a position', async (t) => {
  const api = await client(t)
  for (const [what, position, added, moved] of POSITIONS) {
    const { path, rules } = await custom(api, 'a', 'b', 'c', 'd')
    const add = await api.call('POST', `${path}/rules`, { ...LOG, description: 'N', ...position(rules) })
    t.equal(names(add.body.result.rules).join(''), added, `added: ${what}`)
    await api.call('PUT', path, { rules })
    const move = await api.call('PATCH', `${path}/rules/${rules[1]?.id}`, position(rules))
    t.equal(names(move.body.result.rules).join(''), moved, `moved: ${what}`)
    t.ok(
      move.body.result.rules.every(({ version }: Rule) => version === '1'),
      'versions stay',
    )
  }
})

const BAD_POSITIONS: [what: string, position: unknown, pointer: string][] = [
  ['an empty one', {}, '/position'],
  ['two at once', { before: '', after: '' }, '/position'],
  ['a number', 1, '/position'],
  ['index 0', { index: 0 }, '/position/index'],
  ['an index far behind', { index: 7 }, '/position/index'],
  ['an index as text', { index: '1' }, '/position/index'],
  ['an unknown rule', { before: 'f'.repeat(32) }, '/position/before'],
  ['an unknown rule to follow', { after: 'f'.repeat(32) }, '/position/after'],
  ['what is no id', { after: 'x' }, '/position/after'],
  ['an unknown member', { at: 1 }, '/position/at'],
]

t.test('a bad position is refused', async (t) => {
  const api = await client(t)
  const { path, rules } = await custom(api, 'a', 'b')
  for (const [what, position, pointer] of BAD_POSITIONS) {
    const error = { status: 400, body: { errors: [{ code: 20005, source: { pointer } }] } }
    t.match(await api.call('POST', `${path}/rules`, { ...LOG, position }), error, what)
    t.match(await api.call('PATCH', `${path}/rules/${rules[0]?.id}`, { position }), error, what)
  }
  t.match(await api.call('PATCH', `${path}/rules/${rules[0]?.id}`, { position: { before: rules[0]?.id } }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/position/before' } }] },
  })
  const both = await api.call('POST', `${path}/rules`, { action: 'log', position: { index: 0 } })
  t.match(both.body.errors, [{ source: { pointer: '/expression' } }, { source: { pointer: '/position/index' } }])
  t.equal((await api.call('GET', path)).body.result.version, '1')
})

t.test('a deleted rule is removed; the others do not change', async (t) => {
  const api = await client(t)
  const { path, rules } = await custom(api, 'a', 'b', 'c')
  const { status, body } = await api.call('DELETE', `${path}/rules/${rules[1]?.id}`)
  t.equal(status, 200)
  t.same(body.result.rules, [rules[0], rules[2]])
  t.equal(body.result.version, '2')
})

const versionsOf = (list: readonly { version: string }[]): string[] => list.map(({ version }) => version)

t.test('every write makes a version; older ones can be read and deleted', async (t) => {
  const api = await client(t)
  const { path, id } = await custom(api, 'a')
  await api.call('POST', `${path}/rules`, { ...LOG, description: 'b' })
  await api.call('PUT', path, { description: 'third' })
  const listed = (await api.call('GET', `${path}/versions`)).body.result
  t.match(listed[0], { id, version: '1', description: '', name: 'n', phase: 'http_request_firewall_custom' })
  t.match(listed[2], { version: '3', description: 'third' })
  t.same(versionsOf(listed), ['1', '2', '3'])
  t.notOk('rules' in listed[0])
  const first = (await api.call('GET', `${path}/versions/1`)).body.result
  t.same([first.version, names(first.rules)], ['1', ['a']])
  t.same((await api.call('GET', `${path}/versions/3`)).body.result, (await api.call('GET', path)).body.result)

  t.match(await api.call('DELETE', `${path}/versions/2`), { status: 204, body: undefined })
  t.match(await api.call('GET', `${path}/versions/2`), { status: 404, body: { errors: [{ code: 20003 }] } })
  t.match(await api.call('DELETE', `${path}/versions/3`), { status: 400, body: { errors: [{ code: 20008 }] } })
  t.same(versionsOf((await api.call('GET', `${path}/versions`)).body.result), ['1', '3'])
  t.equal((await api.call('PUT', path, {})).body.result.version, '4', 'numbers are not used again')
})

t.test('the oldest versions go when there are more than are kept; deleting a ruleset takes all of them', async (t) => {
  const { control } = CONFIG
  const quotas = { ...control.quotas, ruleset_versions: 2 }
  const api = await client(t, { config: { control: { ...control, quotas } } })
  const { path } = await custom(api, 'a')
  for (let index = 0; index < 4; index++) await api.call('PUT', path, { description: `d${index}` })
  t.same(versionsOf((await api.call('GET', `${path}/versions`)).body.result), ['3', '4', '5'])
  t.equal((await api.call('GET', `${path}/versions/2`)).status, 404)
  t.equal([...api.store.records()].filter(({ kind }) => kind === 'ruleset_version').length, 2)
  t.match(await api.call('DELETE', path), { status: 204, body: undefined })
  t.equal([...api.store.records()].length, 0)
  t.equal((await api.call('GET', path)).status, 404)
})

t.test('a phase has one entry point at each level', async (t) => {
  const { call } = await client(t)
  const body = { name: 'first', kind: 'zone', phase: 'http_request_firewall_custom', rules: [LOG] }
  const made = await call('POST', AT, body)
  t.match(await call('POST', AT, body), {
    status: 400,
    body: { errors: [{ code: 20006, source: { pointer: '/phase' } }] },
  })
  const entry = `${AT}/phases/http_request_firewall_custom/entrypoint`
  t.same((await call('GET', entry)).body.result, made.body.result)
  t.match((await call('PUT', entry, { rules: [] })).body.result, {
    id: made.body.result.id,
    name: 'first',
    version: '2',
  })
  t.match((await call('PUT', entry, { name: 'other' })).body.result, { name: 'first', version: '3' })
  t.match(await call('PUT', entry, { kind: 'root' }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/kind' } }] },
  })
  t.same(versionsOf((await call('GET', `${entry}/versions`)).body.result), ['1', '2', '3'])
  t.match((await call('GET', `${entry}/versions/1`)).body.result, { rules: [{ action: 'log' }] })
  t.equal((await call('POST', `/accounts/${ACCOUNT}/rulesets`, { ...body, kind: 'root' })).status, 200)
  t.equal((await call('POST', `/zones/${OTHER_ZONE}/rulesets`, body)).status, 200)
  t.equal((await call('DELETE', `${AT}/${made.body.result.id}`)).status, 204)
  t.match(await call('GET', entry), { status: 404, body: { errors: [{ code: 10003 }] } })
  t.match((await call('PUT', entry, { name: 'second' })).body.result, { name: 'second', version: '1', rules: [] })
  t.match(await call('PUT', `${AT}/phases/http_request_redirect/entrypoint`, {}), {
    status: 400,
    body: { errors: [{ code: 20005 }] },
  })
})

t.test('a dry run checks everything and stores nothing', async (t) => {
  const api = await client(t)
  const { path, rules, id } = await custom(api, 'a', 'b')
  await api.call('PUT', path, { description: 'x' })
  const before = records(api)
  const entry = `${AT}/phases/http_request_firewall_custom/entrypoint`
  const WRITES: [method: string, path: string, good: object | undefined, bad?: object][] = [
    ['POST', AT, { name: 'n', kind: 'zone', phase: 'http_ratelimit' }, { name: 'n', kind: 'zone' }],
    ['PUT', path, { rules: [LOG] }, { rules: [{}] }],
    ['PUT', entry, { rules: [LOG] }, { rules: [{ ...LOG, action: 'route' }] }],
    ['POST', `${path}/rules`, LOG, { ...LOG, position: {} }],
    ['PATCH', `${path}/rules/${rules[0]?.id}`, { enabled: false }, { enabled: 1 }],
    ['DELETE', `${path}/rules/${rules[0]?.id}`, undefined],
    ['DELETE', `${path}/versions/1`, undefined],
    ['DELETE', path, undefined],
  ]
  for (const [method, at, good, bad] of WRITES) {
    const response = await api.call(method, `${at}?dry_run=true`, good)
    if (method === 'DELETE' && !at.includes('/rules/')) t.match(response, { status: 204, body: undefined })
    else t.same([response.status, response.body.success, response.body.result], [200, true, null], `${method} ${at}`)
    if (bad) {
      const dry = await api.call(method, `${at}?dry_run=true`, bad)
      t.equal(dry.status, 400)
      t.same(dry.body, (await api.call(method, at, bad)).body, 'the same errors as without')
    }
    for (const value of ['1', 'TRUE', 'yes', ''])
      t.match(await api.call(method, `${at}?dry_run=${value}`, good), {
        status: 400,
        body: { errors: [{ code: 10002, source: { pointer: '/dry_run' } }] },
      })
  }
  t.equal(records(api), before)
  t.match((await api.call('PUT', `${path}?dry_run=false`, {})).body.result, { id, version: '3' })
  t.match(await api.call('DELETE', `${AT}/${'f'.repeat(32)}?dry_run=true`), { status: 404 })
})
