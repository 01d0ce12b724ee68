import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { KeyedEdits } from '../../../control/resources/keyed-edits.js'
import { RulesetRepository } from '../../../control/rulesets/ruleset-repository.js'
import { RULESETS } from '../../../src/core/model/ruleset.js'
import { account } from '../../../src/core/scope.js'
import { ZONES } from '../../../src/core/model/zone.js'
import { VersionConflict, type Store } from '../../../src/core/store.js'
import { useWrites } from '../../../control/rulesets/list-references.js'
import { ACCOUNT, ADMIN, client, OTHER_ACCOUNT, OTHER_ZONE, ZONE, type Client } from '../client.js'
import { AT, custom, LOG, names } from './helper.js'

t.test("rules run custom and managed rulesets of their phase, their own or their account's", async (t) => {
  const api = await client(t)
  const { call } = api
  const phase = 'http_request_firewall_managed'
  const make = async (at: string, kind: string, more: object = {}) =>
    (await call('POST', `${at}/rulesets`, { name: 'n', kind, phase, ...more })).body.result
  const [zone, accounts] = [`/zones/${ZONE}`, `/accounts/${ACCOUNT}`]
  const rule = { ...LOG, categories: ['sqli', 'php'], ref: 'r1' }
  const managed = await make(accounts, 'managed', { rules: [rule, { ...LOG, categories: ['xss'] }] })
  const own = await make(zone, 'custom')
  const other = await make(`/accounts/${OTHER_ACCOUNT}`, 'managed')
  const entryPoint = await make(accounts, 'root')
  const firewall = await custom(api, 'a')
  t.match(managed.rules[0], { categories: ['sqli', 'php'], ref: 'r1' })

  const put = async (id: string, overrides?: object) =>
    await call('PUT', `${zone}/rulesets/phases/${phase}/entrypoint`, {
      rules: [{ expression: 'true', action: 'execute', action_parameters: { id, ...(overrides && { overrides }) } }],
    })
  const REFUSED: [what: string, id: string, overrides: object | undefined, pointer: string][] = [
    ["another account's", other.id, undefined, '/id'],
    ['an entry point', entryPoint.id, undefined, '/id'],
    ['one of another phase', firewall.id, undefined, '/id'],
    ['an override to execute', managed.id, { action: 'execute' }, '/overrides/action'],
    [
      'an override to nothing known',
      managed.id,
      { categories: [{ category: 'a', action: 'explode' }] },
      '/overrides/categories/0/action',
    ],
    [
      'an override of a rule that it has not',
      managed.id,
      { rules: [{ id: 'f'.repeat(32), enabled: true }] },
      '/overrides/rules/0/id',
    ],
    [
      'an override of a rule to skip',
      managed.id,
      { rules: [{ id: managed.rules[0].id, action: 'skip' }] },
      '/overrides/rules/0/action',
    ],
  ]
  for (const [what, id, overrides, pointer] of REFUSED)
    t.match(
      await put(id, overrides),
      { status: 400, body: { errors: [{ source: { pointer: `/rules/0/action_parameters${pointer}` } }] } },
      what,
    )

  t.equal((await put(own.id)).status, 200)
  const overrides = {
    action: 'block',
    enabled: true,
    categories: [{ category: 'xss', action: 'managed_challenge' }],
    rules: [{ id: managed.rules[0].id, action: 'log', enabled: false, score_threshold: 25 }],
  }
  t.same((await put(managed.id, overrides)).body.result.rules[0].action_parameters, { id: managed.id, overrides })

  const nested = (ruleset: string, id: string) =>
    call('PUT', `${zone}/rulesets/${ruleset}`, {
      rules: [{ expression: 'true', action: 'execute', action_parameters: { id } }],
    })
  t.equal((await nested(own.id, managed.id)).status, 200, 'a custom ruleset runs a managed one')
  t.match(await nested(own.id, own.id), { status: 400 }, 'but none of its kind, so that none runs itself')
  const inManaged = { rules: [{ expression: 'true', action: 'execute', action_parameters: { id: managed.id } }] }
  t.match(await call('PUT', `${accounts}/rulesets/${managed.id}`, inManaged), {
    status: 400,
    body: { errors: [{ source: { pointer: '/rules/0/action' } }] },
  })
})

t.test('a ruleset that rules execute cannot be deleted', async (t) => {
  const api = await client(t)
  const { call } = api
  const { id, path } = await custom(api, 'a')
  const entry = `${AT}/phases/http_request_firewall_custom/entrypoint`
  const run = { expression: 'true', action: 'execute', action_parameters: { id } }
  const { body } = await call('PUT', entry, { rules: [run, run, LOG] })
  const [first, second] = body.result.rules
  const refused = async (rules: number) =>
    t.match(await call('DELETE', path), {
      status: 400,
      body: { errors: [{ code: 20007, message: new RegExp(`${rules} execute`) }] },
    })

  await refused(2)
  await call('DELETE', `${AT}/${body.result.id}/rules/${first.id}`)
  await refused(1)
  t.equal((await call('DELETE', `${path}?dry_run=true`)).status, 400)
  await call('PATCH', `${AT}/${body.result.id}/rules/${second.id}`, { action: 'log' })
  t.equal((await call('DELETE', `${path}?dry_run=true`)).status, 204)
  await call('POST', `${AT}/${body.result.id}/rules`, run)
  await refused(1)
  t.equal((await call('DELETE', `${AT}/${body.result.id}`)).status, 204, 'the one that runs it goes')

  const ofAccount = { name: 'n', kind: 'custom', phase: 'http_request_firewall_custom' }
  const shared = (await call('POST', `/accounts/${ACCOUNT}/rulesets`, ofAccount)).body.result.id
  const inZone = await call('PUT', entry, { rules: [{ ...run, action_parameters: { id: shared } }] })
  t.equal((await call('DELETE', `/accounts/${ACCOUNT}/rulesets/${shared}`)).status, 400, 'a zone runs it')
  t.equal((await call('DELETE', `${AT}/${inZone.body.result.id}`)).status, 204)
  t.equal((await call('DELETE', `/accounts/${ACCOUNT}/rulesets/${shared}`)).status, 204)
  t.equal((await call('DELETE', path)).status, 204)
  t.equal([...api.store.records()].length, 0)
})

t.test('the rules of a category of a managed ruleset', async (t) => {
  const api = await client(t)
  const at = `/accounts/${ACCOUNT}/rulesets`
  const rules = [
    { ...LOG, description: 'a', categories: ['sqli', 'php'] },
    { ...LOG, description: 'b', categories: ['xss'] },
    { ...LOG, description: 'c' },
  ]
  const { body } = await api.call('POST', at, {
    name: 'n',
    kind: 'managed',
    phase: 'http_request_firewall_managed',
    rules,
  })
  const tagged = await api.call('GET', `${at}/${body.result.id}/versions/1/by_tag/sqli`)
  t.same(tagged.body.result, { ...body.result, rules: [body.result.rules[0]] })
  t.same((await api.call('GET', `${at}/${body.result.id}/versions/1/by_tag/none`)).body.result.rules, [])
  t.equal((await api.call('GET', `${at}/${body.result.id}/versions/2/by_tag/sqli`)).status, 404)
  const own = await api.call('POST', at, { name: 'n', kind: 'custom', phase: 'http_request_firewall_managed' })
  t.equal((await api.call('GET', `${at}/${own.body.result.id}/versions/1/by_tag/sqli`)).status, 400)
})

t.test('writers at the same time come one after the other', async (t) => {
  const api = await client(t)
  const { path, id } = await custom(api)
  const responses = await Promise.all(
    Array.from({ length: 40 }, (_, index) => api.call('POST', `${path}/rules`, { ...LOG, description: `r${index}` })),
  )
  t.same(new Set(responses.map(({ status }) => status)), new Set([200]))
  const versions = responses.map(({ body }) => Number(body.result.version)).sort((a, b) => a - b)
  t.same(
    versions,
    Array.from({ length: 40 }, (_, index) => index + 2),
  )
  const { body } = await api.call('GET', path)
  t.same(names(body.result.rules).sort(), Array.from({ length: 40 }, (_, index) => `r${index}`).sort())

  const entry = `${AT}/phases/http_request_firewall_custom/entrypoint`
  const run = { expression: 'true', action: 'execute', action_parameters: { id } }
  const [removed, used] = await Promise.all([api.call('DELETE', path), api.call('PUT', entry, { rules: [run] })])
  t.equal([removed, used].filter(({ status }) => status < 300).length, 1, 'a ruleset is deleted or run, not both')
  const races = await Promise.all(
    Array.from({ length: 5 }, () => api.call('POST', AT, { name: 'n', kind: 'zone', phase: 'http_ratelimit' })),
  )
  t.equal(races.filter(({ status }) => status === 200).length, 1, 'one entry point')
})

t.test('more than a thousand waiting writes of one account are refused, not queued', async (t) => {
  const { deps, store } = await client(t)
  let release = (_version: number): void => {}
  const done = new Promise<number>((resolve) => {
    release = resolve
  })
  store.batch = async () => await done
  const repository = new RulesetRepository(deps)
  const caller = { type: 'token', id: '', name: '', grants: [] } as const
  const write = async (accountId: string) =>
    await repository.write({ scope: account(accountId), accountId, caller, requestId: '' }, false, () => ({
      result: null,
      writes: [],
      audit: [],
    }))
  const waiting = Array.from({ length: 1001 }, () => write(ACCOUNT))
  await t.rejects(write(ACCOUNT), { code: 20011, status: 429, detail: { headers: { 'retry-after': '1' } } })
  const other = write(OTHER_ACCOUNT)
  release(1)
  t.equal((await Promise.all(waiting)).length, 1001)
  t.equal((await other).result, null, 'another account has its own turns')
})

t.test('what another machine changed in between is read again', async (t) => {
  const api = await client(t)
  const { path, id } = await custom(api, 'a')
  const batch = api.store.batch.bind(api.store)
  let raced = 0
  api.store.batch = async (writes, audit) => {
    if (raced++ === 0) {
      const stored = api.store.get(RULESETS, { type: 'zone', id: ZONE }, id)!
      const ruleset = { ...stored.value.ruleset, version: '2', description: 'theirs' }
      await batch([{ kind: RULESETS, scope: stored.scope, id, value: { ...stored.value, ruleset } }])
    }
    return await batch(writes, audit)
  }
  const { body } = await api.call('POST', `${path}/rules`, { ...LOG, description: 'b' })
  t.match(body.result, { version: '3', description: 'theirs', rules: [{ description: 'a' }, { description: 'b' }] })
})

t.test('each change is in the audit record, a refused one is not', async (t) => {
  const api = await client(t)
  const { path } = await custom(api, 'a')
  await api.call('PUT', path, { rules: [{}] })
  await api.call('PUT', `${path}?dry_run=true`, {})
  await api.call('PUT', path, {})
  await api.call('DELETE', path)
  const entries = []
  for await (const { entry } of api.store.audit()) entries.push([entry.action, entry.resource.kind, entry.actor.name])
  t.same(
    entries,
    ['create', 'update', 'delete'].map((action) => [action, 'ruleset', 'admin']),
  )
})

t.test('reading and making a ruleset walks over no other ruleset', async (t) => {
  const api = await client(t)
  const { path } = await custom(api, 'a')
  const refuse = (name: string) => () => {
    throw new Error(`${name} walks over everything`)
  }
  const { store } = api
  const list: Store['list'] = store.list.bind(store)
  // Each request looks at the list of zones, which the store has ready.
  const onlyZones: Store['list'] = (kind, scope) => (kind === ZONES ? list(kind, scope) : refuse('list')())
  Object.assign(store, { list: onlyZones, records: refuse('records') } satisfies Partial<Store>)
  t.equal((await api.call('GET', path)).status, 200)
  t.equal((await custom(api, 'b')).rules.length, 1)
  t.equal((await api.call('PUT', `${AT}/phases/http_ratelimit/entrypoint`, {})).status, 200)
  t.equal((await api.call('DELETE', path)).status, 204)
})

t.test('one of the permissions is enough to write; reading permissions do not write', async (t) => {
  const token = (name: string, ...permissions: string[]) => ({
    name,
    token: `${name}-token-0123456789-abcdefghijklmnop`,
    permissions,
    accounts: [ACCOUNT],
    zones: ['*'],
  })
  const tokens = [
    token('writer', 'Select Configuration Write'),
    token('logger', 'Logs Write'),
    token('reader', 'Account Rulesets Read'),
    token('stranger', 'Workers Scripts Write'),
  ]
  const api = await client(t, { config: { tokens } })
  const body = { name: 'n', kind: 'custom', phase: 'http_ratelimit' }
  const EXPECTED: [name: number, read: number, write: number][] = [
    [0, 200, 200],
    [1, 200, 200],
    [2, 200, 403],
    [3, 403, 403],
  ]
  for (const [index, read, write] of EXPECTED) {
    const call = api.as(tokens[index]!.token)
    t.equal((await call('GET', AT)).status, read)
    t.equal((await call('POST', AT, body)).status, write)
    t.equal((await call('POST', `${AT}?dry_run=true`, body)).status, write, 'a dry run needs the same')
    t.equal((await call('GET', `/zones/${OTHER_ZONE}/rulesets`)).status, 403)
  }
})

/** The public API's own client, without its retries. */
const official = ({ url }: Client): Cloudflare => new Cloudflare({ apiToken: ADMIN, baseURL: url, maxRetries: 0 })

const refusal = async (t: Test, promise: PromiseLike<unknown>, status: number, code: number, pointer?: string) => {
  const error = await Promise.resolve(promise).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  t.match(error, { status, errors: [{ code, ...(pointer !== undefined && { source: { pointer } }) }] })
}

t.test('the official client works with rulesets, phases, versions and rules', async (t) => {
  const api = await client(t)
  const { rulesets } = official(api)
  const zone = { zone_id: ZONE }
  const phase = 'http_request_firewall_custom'

  const made = (await rulesets.create({
    ...zone,
    name: 'n',
    kind: 'custom',
    phase,
    rules: [{ expression: 'true', action: 'log' }],
  })) as Cloudflare.Rulesets.RulesetGetResponse
  t.match(made, { kind: 'custom', version: '1' })
  t.same(await rulesets.get(made.id, zone), made)
  const updated = await rulesets.update(made.id, { ...zone, description: 'd', rules: [] })
  t.match(updated, { version: '2', description: 'd' })
  t.equal(await rulesets.update(made.id, { ...zone, description: 'e', dry_run: true }), null)

  const position = { index: 1 }
  await rulesets.rules.create(made.id, { ...zone, expression: 'ssl', action: 'block', ref: 'a' })
  const added = await rulesets.rules.create(made.id, {
    ...zone,
    expression: 'true',
    action: 'skip',
    action_parameters: { ruleset: 'current' },
    logging: { enabled: true },
    position,
  })
  t.match(added, { rules: [{ action: 'skip', logging: { enabled: true } }, { ref: 'a' }] })
  const [first] = (added as Cloudflare.Rulesets.RulesetGetResponse).rules
  t.match(await rulesets.rules.edit(first?.id ?? '', { ...zone, ruleset_id: made.id, enabled: false }), {
    rules: [{ enabled: false }, {}],
  })
  t.match(await rulesets.rules.delete(first?.id ?? '', { ...zone, ruleset_id: made.id }), {
    version: '6',
    rules: [{ ref: 'a' }],
  })

  const listed: string[] = []
  for await (const version of rulesets.versions.list(made.id, zone)) listed.push(version.version)
  t.same(listed, ['1', '2', '3', '4', '5', '6'])
  t.match(await rulesets.versions.get('1', { ...zone, ruleset_id: made.id }), {
    version: '1',
    rules: [{ action: 'log' }],
  })
  await rulesets.versions.delete('1', { ...zone, ruleset_id: made.id })

  const execute = { expression: 'true', action: 'execute' as const, action_parameters: { id: made.id } }
  const entry = await rulesets.phases.update(phase, { ...zone, name: 'mine', rules: [execute] })
  t.match(entry, { kind: 'zone', name: 'mine', phase, rules: [{ action: 'execute' }] })
  t.same(await rulesets.phases.get(phase, zone), entry)
  for await (const version of rulesets.phases.versions.list(phase, zone)) t.equal(version.version, '1')
  t.same(await rulesets.phases.versions.get('1', { ...zone, ruleset_phase: phase }), entry)

  const seen: string[] = []
  for await (const ruleset of rulesets.list({ ...zone, per_page: 1 })) seen.push(ruleset.id)
  t.same(seen.sort(), [made.id, (entry as { id: string }).id].sort())

  await refusal(t, rulesets.delete(made.id, zone), 400, 20007)
  await rulesets.delete((entry as { id: string }).id, zone)
  await rulesets.delete(made.id, zone)
  await refusal(t, rulesets.get(made.id, zone), 404, 20001)
  await refusal(t, rulesets.phases.get(phase, zone), 404, 10003)
  await refusal(
    t,
    rulesets.phases.update('http_config_settings', { ...zone, rules: [{ expression: '', action: 'set_config' }] }),
    400,
    20005,
    '/rules/0/expression',
  )
  await refusal(t, rulesets.create({ account_id: ACCOUNT, name: 'n', kind: 'zone', phase }), 400, 20005, '/kind')
})

t.test('a write that would wait behind a thousand others is refused', async (t) => {
  const turns = new KeyedEdits('rulesetsBusy')
  let open = () => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  const order: number[] = []
  const writes = Array.from({ length: 1001 }, (_, at) =>
    turns.run('account', async () => {
      await gate
      order.push(at)
    }),
  )
  await t.rejects(
    turns.run('account', async () => {}),
    { message: /too many concurrent changes to rulesets/ },
  )
  t.equal(await turns.run('another account', async () => 'others do not wait'), 'others do not wait')
  open()
  await Promise.all(writes)
  t.strictSame(order, [...order.keys()], 'in turn')
  t.equal(await turns.run('account', async () => 'again'), 'again')
})

t.test('a list that is deleted while rules that use it are checked makes the check run again', async (t) => {
  const { deps } = await client(t)
  const at = '2026-01-01T00:00:00.000000Z'
  const use = { id: 'a'.repeat(32), version: '1', last_updated: at, ref: 'r', action: 'log', description: '' }
  const after = { rules: [{ ...use, enabled: true, expression: 'ip.src in $gone' }] }
  const actor = { scope: account(ACCOUNT), accountId: ACCOUNT }
  t.throws(() => useWrites(deps.store, actor, undefined, after, () => undefined), VersionConflict)
  t.same(
    useWrites(deps.store, actor, after, undefined, () => undefined),
    [],
    'a rule that is removed',
  )
  t.same(
    useWrites(deps.store, actor, undefined, after, () => 'ip'),
    [],
    'a list of the configuration',
  )
})
