import t from 'tap'
import { acceptedState, DELIVERIES, DELIVERY_STATES } from '../../../src/core/model/delivery.js'
import { INSTANCES } from '../../../src/core/model/finding.js'
import { WEBHOOKS } from '../../../src/core/model/webhook.js'
import {
  finding,
  FINDING,
  hook,
  ingest,
  INGEST,
  instance,
  JOBS,
  ndjson,
  POLICIES,
  policy,
  postureClient,
  scope,
  sent,
  TYPE,
} from './helper.js'

t.test('a policy sends each new instance that it is about to each of its webhooks, once', async (t) => {
  const api = await postureClient(t)
  const { call, store } = api
  const [one, two, off] = [await hook(api), await hook(api), await hook(api, { status: 'disabled' })]
  await ingest(api, finding('f1', [instance('old')]))
  const made = await call('POST', POLICIES, policy([one, off]))
  t.match(made, { status: 200, body: { result: { enabled: true, description: '', integration_ids: [] } } })
  const { id } = made.body.result
  await call('POST', POLICIES, policy([one, two], { display_name: 'The same again' }))
  await call('POST', POLICIES, policy([two], { finding_type_id: 'other' }))
  await call('POST', POLICIES, policy([two], { enabled: false }))
  t.same(sent(api), [], 'what is there already is not sent')

  const body = finding('f1', [instance('old'), instance('new'), instance('away', { is_archived: true })])
  await ingest(api, body, finding('f1', [instance('new')]))
  await ingest(api, body)
  t.same(sent(api), [
    ['new', one],
    ['new', two],
  ])
  const [delivery] = store.list(DELIVERIES, scope)
  t.match(delivery?.value, { policy_id: id, triggered_by_actor: 'account_token' })
  t.match(JSON.parse(delivery?.value.payload ?? ''), { metadata: { actor: { type: 'policy', id } } })
  t.match((await call('GET', `${POLICIES}/${id}`)).body.result, { last_triggered_at: '2026-11-21T12:00:00.000Z' })

  const content = { category: { observation: 'Issue', product: 'SaaS', type: 'Content' } }
  await ingest(api, finding('f2', [instance('secret')], content))
  await call('POST', `${FINDING}/f1/instances/unarchive`, { check_instances: ['away'] })
  t.equal(sent(api).length, 2)

  const { body: listed } = await call('GET', `${POLICIES}?per_page=3`)
  t.equal(listed.result.length, 3)
  const next = await call('GET', `${POLICIES}?per_page=3&cursor=${listed.result_info.cursors.after}`)
  t.match(next.body, { result: [{ enabled: false, disabled_at: String }], result_info: { count: 1, cursors: {} } })
  t.notOk('after' in next.body.result_info.cursors)
  t.match(await call('GET', `${POLICIES}?cursor=x`), { status: 400 })

  for (const { id } of listed.result) t.strictSame((await call('DELETE', `${POLICIES}/${id}`)).body.result, { id })
  t.match(await call('DELETE', `${POLICIES}/${id}`), { status: 404, body: { errors: [{ code: 10613 }] } })
  await ingest(api, finding('f1', [instance('newer')]))
  t.equal(sent(api).length, 2)
})

t.test('a policy for some integrations sends for those only; an update replaces it', async (t) => {
  const api = await postureClient(t)
  const { call, clock } = api
  const one = await hook(api)
  const some = { applies_to_all_integrations: false, integration_ids: ['int-1'] }
  const { id } = (await call('POST', POLICIES, policy([one], some))).body.result
  await ingest(api, finding('f1', [instance('a')]), finding('f2', [instance('b')], { integration: { id: 'int-2' } }))
  t.same(sent(api), [['a', one]])
  clock.advance(1000)
  const { finding_type_id: _type, ...change } = policy([one], { enabled: false, description: 'off for now' })
  t.match((await call('PUT', `${POLICIES}/${id}`, change)).body.result, {
    finding_type_id: TYPE,
    enabled: false,
    disabled_at: '2026-11-21T12:00:01.000Z',
    description: 'off for now',
    actions: { webhook_configs: [{ webhook_config_id: one, display_name: 'Channel' }], remediation_types: [] },
  })
  await ingest(api, finding('f1', [instance('c')]))
  await call('PUT', `${POLICIES}/${id}`, { ...change, enabled: true })
  await ingest(api, finding('f2', [instance('d')], { integration: { id: 'int-2' } }))
  t.same(sent(api), [
    ['a', one],
    ['d', one],
  ])
  const BAD: [what: string, change: object, ...pointers: string[]][] = [
    ['no name', { display_name: undefined }, '/display_name'],
    ['an empty name', { display_name: '' }, '/display_name'],
    ['a long name', { display_name: 'a'.repeat(256) }, '/display_name'],
    ['a long description', { description: 'a'.repeat(1001) }, '/description'],
    ['enabled as text', { enabled: 'true' }, '/enabled'],
    ['no actions', { actions: undefined }, '/actions'],
    ['empty actions', { actions: {} }, '/actions'],
    ['no action in them', { actions: { webhook_configs: [], remediation_types: [] } }, '/actions'],
    ['another action', { actions: { email: [] } }, '/actions/email'],
    ['an unknown webhook', policy(['none']), '/actions/webhook_configs/0/webhook_config_id'],
    ['a webhook twice', policy([one, one]), '/actions/webhook_configs/1/webhook_config_id'],
    [
      'a remediation',
      { actions: { remediation_types: [{ remediation_type_id: 'x' }] } },
      '/actions/remediation_types/0/remediation_type_id',
    ],
    ['no integrations', { applies_to_all_integrations: false }, '/integration_ids'],
    ['an empty list of them', { applies_to_all_integrations: false, integration_ids: [] }, '/integration_ids'],
    ['an unknown member', { priority: 1 }, '/priority'],
  ]
  for (const [what, bad, ...faults] of BAD) {
    const expected = { status: 400, body: { errors: faults.map((pointer) => ({ code: 10612, source: { pointer } })) } }
    t.match(await call('POST', POLICIES, policy([one], bad)), expected, what)
    t.match(await call('PUT', `${POLICIES}/${id}`, policy([one], bad)), expected, what)
  }
  t.match(await call('PUT', `${POLICIES}/${id}`, policy([one], { finding_type_id: 'other' })), {
    status: 400,
    body: { errors: [{ source: { pointer: '/finding_type_id' } }] },
  })
  t.equal((await call('GET', POLICIES)).body.result.length, 1)
})

t.test('many instances sent concurrently by several senders: each is sent once', async (t) => {
  const api = await postureClient(t)
  const one = await hook(api)
  await api.call('POST', POLICIES, policy([one]))
  const ids = Array.from({ length: 3000 }, (_, at) => `i${at}`)
  const body = ndjson(...ids.map((id) => finding(`f${Number(id.slice(1)) % 7}`, [instance(id)])))
  const responses = await Promise.all(Array.from({ length: 4 }, async () => await api.call('POST', INGEST, body)))
  for (const { status, body } of responses) t.match([status, body.result], [202, { accepted: 3000, rejected: [] }])
  t.equal(sent(api).length, 3000)
  t.equal(new Set(sent(api).map(([id]) => id)).size, 3000)
})

t.test('a full queue rejects deliveries, and accepts them when it has capacity again', async (t) => {
  const api = await postureClient(t)
  const { call, store } = api
  const one = await hook(api)
  api.limits.pending = 2
  await call('POST', POLICIES, policy([one]))
  await ingest(api, finding('f1', [instance('a')]))
  const full = await ingest(api, finding('f1', [instance('b'), instance('c')]))
  t.match(full, { status: 503, body: { errors: [{ code: 10611 }] } })
  t.equal(full.headers.get('retry-after'), '30')
  t.equal(store.get(INSTANCES, scope, 'b'), undefined, 'so that it is new when it comes again')
  const response = await call('POST', JOBS, { finding_instance_ids: ['a', 'a2'], webhook_ids: [one] })
  t.match(response.body.result, { created: [{}], failed: [{ error: /unknown/ }] })
  t.match((await call('POST', JOBS, { finding_instance_ids: ['a'], webhook_ids: [one] })).body.result, {
    created: [],
    failed: [{ error: /limit of waiting jobs/ }],
  })
  for (const { id, value } of store.list(DELIVERIES))
    await store.change(DELIVERY_STATES, scope, id, () => ({ ...acceptedState(value), status: 'completed' as const }))
  t.match(await ingest(api, finding('f1', [instance('b'), instance('c')])), { status: 202 })
  t.same(sent(api).length, 4)
})

// 500 policies with 100 webhooks each blocked the daemon for seconds at each batch of findings.
t.test(
  'a webhook that many policies name is looked up once for a finding, however many instances it has',
  async (t) => {
    const api = await postureClient(t)
    const { store } = api
    const id = await hook(api)
    for (let i = 0; i < 20; i++) await api.call('POST', POLICIES, policy([id]))
    let lookups = 0
    const get = store.get.bind(store)
    store.get = (kind, ...place) => {
      if (kind.name === WEBHOOKS.name) lookups++
      return get(kind, ...place)
    }
    const instances = Array.from({ length: 50 }, (_, i) => instance(`many-${i}`))
    t.match((await ingest(api, finding('f1', instances))).body.result, { accepted: 50, rejected: [] })
    t.equal(store.count(DELIVERIES, scope), 50)
    t.ok(lookups > 0 && lookups <= 4, `${lookups} lookups`)
  },
)
